#include "protocol/rest/rest_json.h"

#include "base/json_quote.h"
#include "base/rfc3339.h"

namespace caisson::rest {
namespace {

// Writes an object member by member; values are JSON already.
class Object {
 public:
  Object& Put(std::string_view name, std::string_view json) {
    text_.append(text_.size() > 1 ? ",\"" : "\"").append(name).append("\":").append(json);
    return *this;
  }
  std::string Text() const { return text_ + "}"; }

 private:
  std::string text_ = "{";
};

// The approximate size of a call or a file of an outcome as text.
constexpr std::size_t kRecordBytes = 200;

Object Begin(const RunView& run) {
  Object object;
  object.Put("id", JsonQuoted(run.id.str()))
      .Put("state", JsonQuoted(ToString(run.state)))
      .Put("created_at", JsonQuoted(ToRfc3339(run.created_at)))
      .Put("updated_at", JsonQuoted(ToRfc3339(run.updated_at)));
  if (run.saved_bytes > 0) {
    object.Put("saved_bytes", std::to_string(run.saved_bytes))
        .Put("saved_build", JsonQuoted(run.saved_build));
  }
  return object;
}

}  // namespace

std::string ToJson(const RunView& run) {
  const bool running = run.state == RunState::kRunning;
  return Begin(run)
      .Put("code", JsonQuoted(run.code))
      .Put("outcome", running ? "null" : caisson::ToJson(run.outcome, FileData::kOmit))
      .Text();
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
  Object object = Begin(run);
  if (run.state != RunState::kRunning) {
    object.Put("status", JsonQuoted(ToString(run.outcome.status)))
        .Put("reason", JsonQuoted(ToString(run.outcome.reason)));
  }
  return object.Text();
}

}  // namespace caisson::rest
