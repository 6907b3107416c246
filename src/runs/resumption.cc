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
Result<SleepRecord> Open(const RunResources& resources, const IsolationKey& owner, const RunId& id,
                         const SavedRun& saved) {
  const auto build = ParseBuild(saved.build);
  if (!build) return Error(ErrorCode::kFailedPrecondition, "it was saved by a build without name");
  TRY_ASSIGN(const SavedCell opened, resources.keys.OpenCell({.owner = OwnerId(owner.str()),
                                                              .run = id.str(),
                                                              .call_seq = saved.seq,
                                                              .build_id = build->build_id,
                                                              .base_hash = build->base_hash},
                                                             saved.sealed));
  return DecodeSleepRecord(opened.bytes);
}

void ReadTrace(LiveRunStart& start) {
  std::map<std::uint32_t, std::string> parts;
  for (StoredCall& call : start.recorded) {
    auto stored = DecodeTrace(std::exchange(call.call.trace, {}));
    if (!stored) continue;  // The calls themselves are compared with the record in any case.
    for (TracePart& part : *stored) parts.emplace(part.seq, std::move(part.bytes));
  }
  start.trace.clear();
  for (auto& [seq, bytes] : parts) start.trace.push_back({.seq = seq, .bytes = std::move(bytes)});
}

// Whatever was under way when the run stopped may have happened; the times of such doubts come after all others.
asio::awaitable<Result<void>> ReadCalls(const RunResources& resources, LiveRunStart& start) {
  RunStore& runs = resources.store.runs();
  auto calls = co_await runs.Calls(start.owner, start.id);
  if (!calls) co_return std::move(calls).error();
  SystemTime last = resources.clock.Now();
  for (const StoredCall& call : *calls) {
    last = std::max<SystemTime>(last, call.updated_at + std::chrono::microseconds(1));
  }
  auto doubted = co_await runs.DoubtStartedCalls(start.owner, start.id, *start.lease, last);
  if (!doubted) co_return std::move(doubted).error();
  if (*doubted > 0) calls = co_await runs.Calls(start.owner, start.id);
  if (!calls) co_return std::move(calls).error();
  start.recorded = *std::move(calls);
  ReadTrace(start);
  co_return Result<void>();
}

// Why the run cannot go on; nothing: it can, from where it sleeps or from the beginning.
asio::awaitable<Result<std::optional<std::string>>> ReadSleep(const RunResources& resources,
                                                              LiveRunStart& start) {
  using Why = std::optional<std::string>;
  auto saved = co_await resources.store.runs().LoadSaved(start.owner, start.id);
  if (!saved) {
    if (saved.error().code() == ErrorCode::kNotFound) co_return Why();
    co_return std::move(saved).error();
  }
  if (saved->sealed.empty()) {
    co_return Why("it waited in the memory of a process that is gone, where it could not be saved");
  }
  auto sleep = Open(resources, start.owner, start.id, *saved);
  if (sleep) {
    start.sleep = *std::move(sleep);
    start.sleep_seq = saved->seq;
    start.sleep_build = ParseBuild(saved->build);
  } else if (sleep.error().code() != ErrorCode::kFailedPrecondition) {
    co_return Why("what was saved of it has been changed");
  }
  co_return Why();
}

}  // namespace

std::optional<SleepRecord> OpenSleep(const RunResources& resources, const IsolationKey& owner,
                                     const RunId& id, const SavedRun& saved) {
  auto opened = Open(resources, owner, id, saved);
  if (!opened) return std::nullopt;
  return *std::move(opened);
}

namespace {

// The run is claimed; reads it and looks whether it can go on.
asio::awaitable<Result<TakenRun>> Read(const RunResources& resources, SettingByName settings,
                                       IsolationKey owner, RunId id, Lease lease) {
  auto stored = co_await resources.store.runs().Find(owner, id);
  if (!stored) co_return std::move(stored).error();
  TakenRun taken{.start = {.owner = owner,
                           .id = id,
                           .lease = std::move(lease),
                           .created_at = stored->created_at,
                           .resumed = true,
                           .attempts = stored->attempts}};
  LiveRunStart& start = taken.start;
  auto record = DecodeRunRecord(stored->request);
  if (auto read = co_await ReadCalls(resources, start); !read) {
    co_return std::move(read).error();
  }
  if (stored->cancel_asked) {
    taken.end = Outcome{.status = RunStatus::kCancelled, .reason = RunReason::kKilled};
    co_return taken;
  }
  if (stored->attempts > resources.settings.max_attempts) {
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
  start.record = *std::move(record);
  if (start.record.context && resources.sessions != nullptr) {
    start.context = std::make_shared<const CallerContext>(
        CallerContext::FromRecord(*resources.sessions, *start.record.context));
  }
  start.setting = settings(start.record.setting, start.context.get());
  std::optional<std::string> lost;
  if (!start.setting) {
    lost = "the tools it was started with are not here";
  } else if (start.record.context && !start.context) {
    lost = "whom it acts for cannot be told to tools here";
  } else if (!start.record.seed || start.record.session) {
    lost = "the process it ran in is gone";
  } else {
    auto why = co_await ReadSleep(resources, start);
    if (!why) co_return std::move(why).error();
    lost = *std::move(why);
  }
  // The operator may have lowered the maximum while it slept.
  if (start.setting) start.record.limits = LowerTo(start.setting->ceiling, start.record.limits);
  if (lost) taken.end = FailedOutcome(RunReason::kLost, *std::move(lost));
  co_return taken;
}

}  // namespace

asio::awaitable<Result<TakenRun>> TakeUp(const RunResources& resources, SettingByName settings,
                                         IsolationKey owner, RunId id) {
  RunStore& runs = resources.store.runs();
  const SystemTime now = resources.clock.Now();
  auto lease = co_await runs.Claim(
      owner, id, {.holder = resources.holder, .now = now, .until = now + resources.settings.lease});
  if (!lease) co_return std::move(lease).error();
  auto taken = co_await Read(resources, std::move(settings), owner, id, *lease);
  if (taken || !IsStoreFailure(taken.error())) co_return taken;
  // No attempt of the run's. If this fails too, its lease ends, and this process takes it up again.
  static_cast<void>(co_await runs.Postpone(owner, id, *lease, {.counts = false}));
  co_return taken;
}

asio::awaitable<Result<std::optional<std::string>>> ReadAgain(const RunResources& resources,
                                                              LiveRunStart& start) {
  start.resumed = true;
  start.sleep.reset();
  if (auto read = co_await ReadCalls(resources, start); !read) {
    co_return std::move(read).error();
  }
  co_return co_await ReadSleep(resources, start);
}

Outcome FailedOutcome(RunReason reason, std::string why) {
  Outcome outcome;
  outcome.status = RunStatus::kFailed;
  outcome.reason = reason;
  outcome.error = RunError{.type = "RunLost", .message = std::move(why)};
  return outcome;
}

asio::awaitable<Result<void>> EndTaken(const RunResources& resources, LiveRunStart start,
                                       Outcome outcome) {
  outcome.run_id = start.id.str();
  for (const StoredCall& call : start.recorded) outcome.calls.push_back(ToOutcome(call));
  if (start.sleep) {
    outcome.stdout_text = start.sleep->stdout_text;
    outcome.stderr_text = start.sleep->stderr_text;
  }
  return resources.store.runs().Finish(start.owner, start.id, *start.lease, EncodeOutcome(outcome),
                                       {}, resources.clock.Now());
}

}  // namespace caisson
