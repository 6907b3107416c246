#include "protocol/rest/rest_json.h"

#include "base/json_object.h"
#include "base/rfc3339.h"

namespace caisson::rest {
namespace {

// The approximate size of a call or a file of an outcome as text.
constexpr std::size_t kRecordBytes = 200;

JsonObject Begin(const RunView& run) {
  JsonObject object;
  object.Text("id", run.id.str())
      .Text("state", ToString(run.state))
      .Text("created_at", ToRfc3339(run.created_at))
      .Text("updated_at", ToRfc3339(run.updated_at));
  if (run.saved_bytes > 0) {
    object.Number("saved_bytes", run.saved_bytes).Text("saved_build", run.saved_build);
  }
  return object;
}

}  // namespace

std::string ToJson(const RunView& run) {
  const bool running = run.state == RunState::kRunning;
  return Begin(run)
      .Text("code", run.code)
      .Put("outcome", running ? "null" : caisson::ToJson(run.outcome, FileData::kOmit))
      .Finish();
}

std::size_t JsonWork(const RunView& run) {
  const Outcome& outcome = run.outcome;
  std::size_t bytes = run.code.size() + outcome.stdout_text.size() + outcome.stderr_text.size();
  if (outcome.result) bytes += DecodedBytes(*outcome.result);
  if (outcome.result_repr) bytes += outcome.result_repr->size();
  for (const OutcomeCall& call : outcome.calls) bytes += DecodedBytes(call.arguments);
  for (const OutcomeApproval& approval : outcome.approvals) {
    bytes += DecodedBytes(approval.arguments);
  }
  for (const OutcomeFile& file : outcome.files) bytes += file.contents.size();  // It is hashed.
  return bytes + (outcome.calls.size() + outcome.files.size()) * kRecordBytes;
}

std::string Summary(const RunView& run) {
  JsonObject object = Begin(run);
  if (run.state != RunState::kRunning) {
    object.Text("status", ToString(run.outcome.status))
        .Text("reason", ToString(run.outcome.reason));
  }
  return object.Finish();
}

}  // namespace caisson::rest
