#include "runs/resumption.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "base/low_priority_pool.h"
#include "runs/build_text.h"
#include "runs/direct_call.h"
#include "runs/journal/outcome_record.h"

namespace caisson {
namespace {

// Whichever build it is of: the engine knows which it can restore.
Result<SleepRecord> Open(const RunResources& resources, const IsolationKey& owner, const RunId& id,
                         const SavedRun& saved) {
  const auto build = ParseBuild(saved.build);
  if (!build)
    return Error(ErrorCode::kFailedPrecondition,
                 "it was saved by a build whose name cannot be read");
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

// Loads the calls of the run and what was saved of it. A call that was under way when the run
// stopped may have happened; the times of such doubts come after all others.
//
// Noting the doubts comes last. It is the first change under this lease, and with it the attempt
// counts (RunStore::Claim): a store that fails before costs no attempt. Nothing is decoded before,
// in case that takes this process down.
asio::awaitable<Result<std::optional<SavedRun>>> Load(const RunResources& resources,
                                                      LiveRunStart& start) {
  RunStore& runs = resources.store.runs();
  auto calls = co_await runs.Calls(start.owner, start.id);
  if (!calls) co_return std::move(calls).error();
  auto saved = co_await runs.LoadSaved(start.owner, start.id);
  if (!saved && saved.error().code() != ErrorCode::kNotFound) co_return std::move(saved).error();
  SystemTime last = std::chrono::floor<std::chrono::microseconds>(resources.clock.Now());
  for (const StoredCall& call : *calls) {
    last = std::max<SystemTime>(last, call.updated_at + std::chrono::microseconds(1));
  }
  auto doubted = co_await runs.DoubtStartedCalls(start.owner, start.id, *start.lease, last);
  if (!doubted) co_return std::move(doubted).error();
  for (StoredCall& call : *calls) {
    if (call.call.state != CallState::kStarted) continue;
    call.call.state = CallState::kUncertain;
    call.updated_at = last;
  }
  start.recorded = *std::move(calls);
  co_return saved ? std::optional(*std::move(saved)) : std::nullopt;
}

// Why the run cannot go on; nothing: it can, from where it sleeps or from the beginning.
std::optional<std::string> ReadSleep(const RunResources& resources, LiveRunStart& start,
                                     const std::optional<SavedRun>& saved) {
  if (!saved) return std::nullopt;
  if (saved->sealed.empty()) {
    return "it waited in the memory of a process that is gone, where it could not be saved";
  }
  auto sleep = Open(resources, start.owner, start.id, *saved);
  if (sleep) {
    start.sleep = *std::move(sleep);
    start.sleep_seq = saved->seq;
    start.sleep_build = ParseBuild(saved->build);
  } else if (sleep.error().code() != ErrorCode::kFailedPrecondition) {
    return "what was saved of it has been changed";
  }
  return std::nullopt;
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
  const auto saved = co_await Load(resources, start);
  if (!saved) co_return saved.error();
  ReadTrace(start);
  auto record = DecodeRunRecord(stored->request);
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
  if (start.record.call) {
    auto call = FromRecord(*start.record.call);
    if (!call) {
      taken.end = FailedOutcome(RunReason::kLost, call.error().message());
      co_return taken;
    }
    start.call = *std::move(call);
  }
  if (start.record.caller && resources.caller_host != nullptr) {
    start.caller = std::make_shared<const CallerContext>(
        CallerContext::FromRecord(*resources.caller_host, *start.record.caller));
  }
  start.setting = settings(start.record.setting, start.caller.get());
  std::optional<std::string> lost;
  if (!start.setting) {
    lost = "the tools it was started with are not here";
  } else if (start.record.caller && !start.caller) {
    lost = "whom it acts for cannot be told to tools here";
  } else if (!start.record.seed || start.record.session) {
    lost = "the process it ran in is gone";
  } else {
    lost = ReadSleep(resources, start, *saved);
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
  // Not an attempt of the run. If this fails too, the lease expires, and the next claim does not
  // count this one.
  static_cast<void>(co_await runs.Postpone(owner, id, *lease, {.counts = false}));
  co_return taken;
}

asio::awaitable<Result<std::optional<std::string>>> ReadAgain(const RunResources& resources,
                                                              LiveRunStart& start) {
  start.resumed = true;
  start.sleep.reset();
  const auto saved = co_await Load(resources, start);
  if (!saved) co_return saved.error();
  ReadTrace(start);
  co_return ReadSleep(resources, start, *saved);
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
  outcome.calls = ToOutcome(start.recorded);
  if (start.sleep) {
    outcome.stdout_text = start.sleep->stdout_text;
    outcome.stderr_text = start.sleep->stderr_text;
  }
  auto end = co_await Encode(resources, outcome);
  co_return co_await resources.store.runs().Finish(start.owner, start.id, *start.lease,
                                                   std::move(end), resources.clock.Now());
}

asio::awaitable<std::shared_ptr<const RunEnd>> Encode(const RunResources& resources,
                                                      const Outcome& outcome) {
  const bool keeps = resources.settings.keeps_ended;
  return CallAside(resources.runner.cpu_pool(), keeps ? OutcomeBytes(outcome) : 0,
                   [&outcome, keeps] {
                     if (keeps) return std::make_shared<const RunEnd>(ToRunEnd(outcome));
                     return std::make_shared<const RunEnd>(
                         ToRunEnd({.run_id = outcome.run_id, .status = outcome.status}));
                   });
}

}  // namespace caisson
