#include "runs/stored_view.h"

#include <utility>

#include "approval/desk.h"
#include "runs/journal/outcome_record.h"
#include "runs/journal/records.h"
#include "runs/journal/run_journal.h"

namespace caisson {

asio::awaitable<Result<RunView>> ViewStored(Store& store, IsolationKey owner, StoredRun stored) {
  RunView view{.id = stored.id,
               .state = stored.state,
               .created_at = stored.created_at,
               .updated_at = stored.updated_at};
  auto record = DecodeRunRecord(stored.request);
  if (!record) co_return std::move(record).error();
  view.code = std::move(record->code);
  view.limits = record->limits;
  if (stored.state == RunState::kFinished) {
    auto outcome = DecodeOutcome(stored.outcome);
    if (!outcome) co_return std::move(outcome).error();
    view.outcome = *std::move(outcome);
    co_return view;
  }
  view.outcome.run_id = stored.id.str();
  if (stored.state == RunState::kWaiting) {
    view.outcome.status = RunStatus::kWaiting;
    view.outcome.reason = RunReason::kApproval;
  }
  auto calls = co_await store.runs().Calls(owner, stored.id);
  if (!calls) co_return std::move(calls).error();
  for (const StoredCall& call : *calls) {
    view.outcome.calls.push_back(ToOutcome(call));
    if (call.call.state != CallState::kPending) continue;
    auto approval = co_await store.approvals().Find(owner, ApprovalIdOf(stored.id, call.call.seq));
    if (approval && approval->state == ApprovalState::kPending) {
      view.outcome.approvals.push_back(ToOutcome(*approval));
    }
  }
  if (auto saved = co_await store.runs().LoadSaved(owner, stored.id)) {
    view.saved_bytes = saved->sealed.size();
    view.saved_build = std::move(saved->build);
    view.wake_at = saved->wake_at;
  }
  co_return view;
}

}  // namespace caisson
