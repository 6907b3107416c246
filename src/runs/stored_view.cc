#include "runs/stored_view.h"

#include <utility>

#include "approval/desk.h"
#include "runs/direct_call.h"
#include "runs/journal/outcome_record.h"
#include "runs/journal/records.h"
#include "runs/journal/run_journal.h"

namespace caisson {
namespace {

Outcome Unfinished(const RunId& id, RunState state) {
  Outcome outcome{.run_id = id.str()};
  if (state == RunState::kWaiting) {
    outcome.status = RunStatus::kWaiting;
    outcome.reason = RunReason::kApproval;
  }
  return outcome;
}

}  // namespace

asio::awaitable<Result<RunView>> ViewStored(Store& store, IsolationKey owner, StoredRun stored) {
  RunView view{.id = stored.id,
               .state = stored.state,
               .created_at = stored.created_at,
               .updated_at = stored.updated_at};
  auto record = DecodeRunRecord(stored.request);
  if (!record) co_return std::move(record).error();
  view.code = std::move(record->code);
  view.setting = std::move(record->setting);
  if (record->call) {
    auto call = FromRecord(*record->call);
    if (!call) co_return std::move(call).error();
    view.call = *std::move(call);
  }
  view.limits = record->limits;
  if (stored.state == RunState::kFinished) {
    auto outcome = DecodeOutcome(stored.outcome);
    if (!outcome) co_return std::move(outcome).error();
    view.outcome = *std::move(outcome);
    co_return view;
  }
  view.outcome = Unfinished(stored.id, stored.state);
  auto calls = co_await store.runs().Calls(owner, stored.id);
  if (!calls) co_return std::move(calls).error();
  view.outcome.calls = ToOutcome(*calls);
  ShownArguments arguments;
  for (const StoredCall& call : *calls) {
    if (call.call.state != CallState::kPending) continue;
    auto approval = co_await store.approvals().Find(owner, ApprovalIdOf(stored.id, call.call.seq));
    if (!approval && approval.error().code() != ErrorCode::kNotFound) {
      co_return std::move(approval).error();
    }
    if (approval && approval->state == ApprovalState::kPending) {
      view.outcome.approvals.push_back(
          ToOutcome(*approval, arguments.Show(approval->asked.arguments)));
    }
  }
  auto saved = co_await store.runs().LoadSaved(owner, stored.id);
  if (!saved && saved.error().code() != ErrorCode::kNotFound) co_return std::move(saved).error();
  if (saved) {
    view.saved_bytes = saved->sealed.size();
    view.saved_build = std::move(saved->build);
    view.wake_at = saved->wake_at;
  }
  co_return view;
}

Result<RunView> ViewListed(ListedRun listed) {
  Outcome outcome = Unfinished(listed.id, listed.state);
  if (listed.state == RunState::kFinished) {
    TRY_ASSIGN(outcome, DecodeSummary(listed.summary));
    outcome.run_id = listed.id.str();
  }
  return RunView{.id = std::move(listed.id),
                 .state = listed.state,
                 .outcome = std::move(outcome),
                 .created_at = listed.created_at,
                 .updated_at = listed.updated_at,
                 .saved_bytes = listed.saved_bytes,
                 .saved_build = std::move(listed.saved_build),
                 .wake_at = listed.wake_at};
}

}  // namespace caisson
