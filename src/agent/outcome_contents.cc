#include "agent/outcome_contents.h"

#include <string>
#include <string_view>

#include "base/utf8.h"

namespace caisson {
namespace {

// Converts all line ends to \n, as a terminal shows them.
std::string Lines(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] == '\r' && i + 1 < bytes.size() && bytes[i + 1] == '\n') continue;
    text.push_back(bytes[i]);
  }
  return ToUtf8(text);
}

void AddStream(std::string_view name, std::string_view bytes, bool truncated,
               std::vector<Content>& contents) {
  TextContent content{.text = Lines(bytes)};
  if (name == "stderr") content.stream = name;
  if (truncated) {
    if (!content.text.empty()) content.text.append("\n\n");
    content.text.append("[").append(name).append(" truncated]");
  }
  if (!content.text.empty()) contents.emplace_back(std::move(content));
}

void AddValue(const Outcome& outcome, std::vector<Content>& contents) {
  if (outcome.result_repr) {
    contents.emplace_back(TextContent{.text = ToUtf8(*outcome.result_repr)});
  } else if (outcome.result) {
    const auto json = ToJson(*outcome.result);
    contents.emplace_back(TextContent{.text = json ? *json : json.error().message()});
  }
}

std::string Findings(const Outcome& outcome) {
  std::string text = "Nothing was executed.";
  for (const Finding& finding : outcome.findings) {
    text.append("\n");
    if (finding.line > 0) {
      text.append("line " + std::to_string(finding.line) + ", column " +
                  std::to_string(finding.column) + ": ");
    }
    text.append(finding.message);
    if (!finding.hint.empty()) text.append(" (" + finding.hint + ")");
  }
  return text;
}

ErrorContent Wrong(const Outcome& outcome) {
  const std::string reason(ToString(outcome.reason));
  if (outcome.status == RunStatus::kCancelled) return {"Cancelled", "The run was cancelled."};
  if (outcome.status == RunStatus::kWaiting) {
    return {"Waiting", "The run waits for an approval and goes on when it is given."};
  }
  if (outcome.status == RunStatus::kLimit) {
    return {"LimitReached", "The run was ended: it reached its limit of " + reason + "."};
  }
  if (!outcome.findings.empty()) return {"CodeRejected", Findings(outcome)};
  if (!outcome.error) return {"RunFailed", "The run ended without an answer: " + reason + "."};
  const RunError& error = *outcome.error;
  return {error.type, error.traceback.empty() ? error.message : error.traceback};
}

void AddError(const CodeRun& run, std::vector<Content>& contents) {
  ErrorContent error = Wrong(run.outcome);
  error.message = ToUtf8(error.message);
  // If nothing ran in the session, the error itself says that the session is lost.
  if (run.session == SessionFate::kLost && run.outcome.reason != RunReason::kLost) {
    error.message.append(
        "\nThe session is lost with its variables and files; start it again with restart.");
  }
  contents.emplace_back(std::move(error));
}

void AddFile(const OutcomeFile& file, std::vector<Content>& contents) {
  const std::string path = ToUtf8(file.path);
  if (file.change == "deleted") {
    contents.emplace_back(TextContent{.text = "[file " + path + " deleted]"});
  } else if (!file.omitted.empty()) {
    contents.emplace_back(
        TextContent{.text = "[file " + path + " omitted: " + ToUtf8(file.omitted) + "]"});
  } else {
    contents.emplace_back(DataContent{
        .bytes = file.contents, .media_type = std::string(MediaType(file.path)), .path = path});
  }
}

}  // namespace

std::vector<Content> ToContents(const CodeRun& run) {
  const Outcome& outcome = run.outcome;
  std::vector<Content> contents;
  AddStream("stdout", outcome.stdout_text, outcome.stdout_truncated, contents);
  AddStream("stderr", outcome.stderr_text, outcome.stderr_truncated, contents);
  if (outcome.status == RunStatus::kCompleted) {
    AddValue(outcome, contents);
  } else {
    AddError(run, contents);
  }
  for (const OutcomeFile& file : outcome.files) AddFile(file, contents);
  if (contents.empty()) {
    contents.emplace_back(TextContent{.text = "Code executed successfully without output."});
  }
  return contents;
}

}  // namespace caisson
