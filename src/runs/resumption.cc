#include "runs/resumption.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "runs/build_text.h"
#include "runs/journal/outcome_record.h"

namespace caisson {
namespace {

// Whichever build it is of: the engine knows which it can restore.
Result<SleepRecord> Open(const Surroundings& surroundings, const IsolationKey& owner,
                         const RunId& id, const SavedRun& saved) {
  const auto build = ParseBuild(saved.build);
  if (!build) return Error(ErrorCode::kFailedPrecondition, "it was saved by a build without name");
  TRY_ASSIGN(const SavedCell opened, surroundings.keys.OpenCell({.owner = OwnerId(owner.str()),
                                                                 .run = id.str(),
                                                                 .call_seq = saved.seq,
                                                                 .build_id = build->build_id,
                                                                 .base_hash = build->base_hash},
                                                                saved.sealed));
  return DecodeSleepRecord(opened.bytes);
}

void ReadTrace(LiveRunOrigin& origin) {
  std::map<std::uint32_t, std::string> parts;
  for (StoredCall& call : origin.recorded) {
    auto stored = DecodeTrace(std::exchange(call.call.trace, {}));
    if (!stored) continue;  // The calls themselves are compared with the record in any case.
    for (TracePart& part : *stored) parts.emplace(part.seq, std::move(part.bytes));
  }
  origin.trace.clear();
  for (auto& [seq, bytes] : parts) origin.trace.push_back({.seq = seq, .bytes = std::move(bytes)});
}

// Whatever was under way when the run stopped may have happened; the times of such doubts come after all others.
asio::awaitable<Result<void>> ReadCalls(const Surroundings& surroundings, LiveRunOrigin& origin) {
  RunStore& runs = surroundings.store.runs();
  auto calls = co_await runs.Calls(origin.owner, origin.id);
  if (!calls) co_return std::move(calls).error();
  SystemTime last = surroundings.clock.Now();
  for (const StoredCall& call : *calls) {
    last = std::max<SystemTime>(last, call.updated_at + std::chrono::microseconds(1));
  }
  auto doubted = co_await runs.DoubtStartedCalls(origin.owner, origin.id, *origin.lease, last);
  if (!doubted) co_return std::move(doubted).error();
  if (*doubted > 0) calls = co_await runs.Calls(origin.owner, origin.id);
  if (!calls) co_return std::move(calls).error();
  origin.recorded = *std::move(calls);
  ReadTrace(origin);
  co_return Result<void>();
}

// Why the run cannot go on; nothing: it can, from where it sleeps or from the beginning.
asio::awaitable<Result<std::optional<std::string>>> ReadSleep(const Surroundings& surroundings,
                                                              LiveRunOrigin& origin) {
  using Why = std::optional<std::string>;
  auto saved = co_await surroundings.store.runs().LoadSaved(origin.owner, origin.id);
  if (!saved) {
    if (saved.error().code() == ErrorCode::kNotFound) co_return Why();
    co_return std::move(saved).error();
  }
  if (saved->sealed.empty()) {
    co_return Why("it waited in the memory of a process that is gone, where it could not be saved");
  }
  auto sleep = Open(surroundings, origin.owner, origin.id, *saved);
  if (sleep) {
    origin.sleep = *std::move(sleep);
    origin.sleep_seq = saved->seq;
    origin.sleep_build = ParseBuild(saved->build);
  } else if (sleep.error().code() != ErrorCode::kFailedPrecondition) {
    co_return Why("what was saved of it has been changed");
  }
  co_return Why();
}

}  // namespace

std::optional<SleepRecord> OpenSleep(const Surroundings& surroundings, const IsolationKey& owner,
                                     const RunId& id, const SavedRun& saved) {
  auto opened = Open(surroundings, owner, id, saved);
  if (!opened) return std::nullopt;
  return *std::move(opened);
}

namespace {

// The run is claimed; reads it and looks whether it can go on.
asio::awaitable<Result<TakenRun>> Read(const Surroundings& surroundings, SettingByName settings,
                                       IsolationKey owner, RunId id, Lease lease) {
  auto stored = co_await surroundings.store.runs().Find(owner, id);
  if (!stored) co_return std::move(stored).error();
  TakenRun taken{.origin = {.owner = owner,
                            .id = id,
                            .lease = std::move(lease),
                            .created_at = stored->created_at,
                            .resumed = true,
                            .attempts = stored->attempts}};
  LiveRunOrigin& origin = taken.origin;
  auto record = DecodeRunRecord(stored->request);
  if (auto read = co_await ReadCalls(surroundings, origin); !read) {
    co_return std::move(read).error();
  }
  if (stored->cancel_asked) {
    taken.end = Outcome{.status = RunStatus::kCancelled, .reason = RunReason::kKilled};
    co_return taken;
  }
  if (stored->attempts > surroundings.settings.max_attempts) {
    taken.end =
        FailedOutcome(RunReason::kCrashed, "the process that ran it was lost " +
                                               std::to_string(stored->attempts - 1) +
                                               " times in a row; the run is not tried again");
    co_return taken;
  }
  if (!record) {
    taken.end = FailedOutcome(RunReason::kLost, record.error().message());
    co_return taken;
  }
  origin.record = *std::move(record);
  if (origin.record.context && surroundings.sessions != nullptr) {
    origin.context = std::make_shared<const SessionContext>(
        SessionContext::FromRecord(*surroundings.sessions, *origin.record.context));
  }
  origin.setting = settings(origin.record.setting, origin.context.get());
  std::optional<std::string> lost;
  if (!origin.setting) {
    lost = "the tools it was started with are not here";
  } else if (origin.record.context && !origin.context) {
    lost = "whom it acts for cannot be told to tools here";
  } else if (!origin.record.seed || origin.record.session) {
    lost = "the process it ran in is gone";
  } else {
    auto why = co_await ReadSleep(surroundings, origin);
    if (!why) co_return std::move(why).error();
    lost = *std::move(why);
  }
  // The operator may have lowered the maximum while it slept.
  if (origin.setting) origin.record.limits = LowerTo(origin.setting->ceiling, origin.record.limits);
  if (lost) taken.end = FailedOutcome(RunReason::kLost, *std::move(lost));
  co_return taken;
}

}  // namespace

asio::awaitable<Result<TakenRun>> TakeUp(const Surroundings& surroundings, SettingByName settings,
                                         IsolationKey owner, RunId id) {
  RunStore& runs = surroundings.store.runs();
  const SystemTime now = surroundings.clock.Now();
  auto lease = co_await runs.Claim(
      owner, id,
      {.holder = surroundings.holder, .now = now, .until = now + surroundings.settings.lease});
  if (!lease) co_return std::move(lease).error();
  auto taken = co_await Read(surroundings, std::move(settings), owner, id, *lease);
  if (taken || !IsStoreFailure(taken.error())) co_return taken;
  // No attempt of the run's. If this fails too, its lease ends, and this process takes it up again.
  static_cast<void>(co_await runs.Postpone(owner, id, *lease, {.counts = false}));
  co_return taken;
}

asio::awaitable<Result<std::optional<std::string>>> ReadAgain(const Surroundings& surroundings,
                                                              LiveRunOrigin& origin) {
  origin.resumed = true;
  origin.sleep.reset();
  if (auto read = co_await ReadCalls(surroundings, origin); !read) {
    co_return std::move(read).error();
  }
  co_return co_await ReadSleep(surroundings, origin);
}

Outcome FailedOutcome(RunReason reason, std::string why) {
  Outcome outcome;
  outcome.status = RunStatus::kFailed;
  outcome.reason = reason;
  outcome.error = RunError{.type = "RunLost", .message = std::move(why)};
  return outcome;
}

asio::awaitable<Result<void>> EndTaken(const Surroundings& surroundings, LiveRunOrigin origin,
                                       Outcome outcome) {
  outcome.run_id = origin.id.str();
  for (const StoredCall& call : origin.recorded) outcome.calls.push_back(ToOutcome(call));
  if (origin.sleep) {
    outcome.stdout_text = origin.sleep->stdout_text;
    outcome.stderr_text = origin.sleep->stderr_text;
  }
  return surroundings.store.runs().Finish(origin.owner, origin.id, *origin.lease,
                                          EncodeOutcome(outcome), {}, surroundings.clock.Now());
}

}  // namespace caisson
