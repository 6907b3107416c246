#include "agent/call_results.h"

#include <utility>
#include <variant>

#include "agent/outcome_contents.h"
#include "base/utf8.h"
#include "tools/content.h"

namespace caisson {
namespace {

constexpr std::string_view kDenied = "ApprovalDenied";

void Append(std::string& text, std::string_view more) {
  if (!text.empty() && !text.ends_with('\n')) text.push_back('\n');
  text.append(more);
}

void Append(std::string& text, const Content& content) {
  if (const auto* plain = std::get_if<TextContent>(&content)) {
    Append(text, plain->text);
  } else if (const auto* data = std::get_if<DataContent>(&content)) {
    const std::string name = data->path.empty() ? "data" : "file " + ToUtf8(data->path);
    Append(text, "[" + name + ": " + data->media_type + ", " + std::to_string(data->bytes.size()) +
                     " bytes]");
  } else {
    const auto& error = std::get<ErrorContent>(content);
    // A traceback begins with its own heading and ends with the type.
    const bool has_type = error.message.find(error.type) != std::string::npos;
    Append(text, has_type ? error.message : error.type + ": " + error.message);
  }
}

std::string TextOf(const std::vector<Content>& contents) {
  std::string text;
  for (const Content& content : contents) Append(text, content);
  return text;
}

CallProgress Progress(const Outcome& outcome) {
  if (outcome.status == RunStatus::kWaiting) return CallProgress::kWaiting;
  const bool denied = outcome.error && outcome.error->type == kDenied;
  const bool answered =
      outcome.status == RunStatus::kCompleted || (outcome.reason == RunReason::kRaised && !denied);
  return answered ? CallProgress::kCompleted : CallProgress::kFailed;
}

std::vector<TurnFile> FilesOf(const Outcome& outcome) {
  std::vector<TurnFile> files;
  std::uint32_t number = 0;
  for (const OutcomeFile& file : outcome.files) {
    const std::uint32_t its_number = number++;
    if (file.change == "deleted" || !file.omitted.empty()) continue;
    files.push_back({.path = ToUtf8(file.path),
                     .media_type = std::string(MediaType(file.path)),
                     .bytes = file.size,
                     .number = its_number});
  }
  return files;
}

std::string DirectText(const Outcome& outcome) {
  if (outcome.error) return ToUtf8(outcome.error->type + ": " + outcome.error->message);
  if (outcome.status == RunStatus::kCancelled) return "The call was cancelled.";
  if (outcome.status == RunStatus::kLimit) {
    return "The call reached its limit of " + std::string(ToString(outcome.reason)) + ".";
  }
  if (outcome.result_repr) return ToUtf8(*outcome.result_repr);
  if (!outcome.result) return "";
  return TextOf(ToContents(ToolAnswer(*outcome.result)));
}

std::string ErrorText(const Error& why) {
  return "The call was not made: " + why.message();
}

}  // namespace

void Fill(CodeCall& call, const RunView& run) {
  call.run = run.id;
  call.progress = Progress(run.outcome);
  if (call.progress == CallProgress::kWaiting) return;
  call.logs = TextOf(ToContents(CodeRun{.outcome = run.outcome, .session = run.session}));
  call.files = FilesOf(run.outcome);
  call.is_error = run.outcome.status != RunStatus::kCompleted;
}

void Fill(HostToolCall& call, const RunView& run) {
  call.run = run.id;
  call.progress = Progress(run.outcome);
  if (call.progress == CallProgress::kWaiting) return;
  call.output = DirectText(run.outcome);
  call.is_error = run.outcome.status != RunStatus::kCompleted;
}

void Fill(CodeCall& call, const Error& why) {
  call.progress = CallProgress::kFailed;
  call.logs = ErrorText(why);
  call.is_error = true;
}

void Fill(HostToolCall& call, const Error& why) {
  call.progress = CallProgress::kFailed;
  call.output = ErrorText(why);
  call.is_error = true;
}

CodeCall* CodeOf(TurnItem& item) {
  return std::get_if<CodeCall>(&item.content);
}
HostToolCall* ToolOf(TurnItem& item) {
  return std::get_if<HostToolCall>(&item.content);
}
bool IsCall(const TurnItem& item) {
  return std::holds_alternative<CodeCall>(item.content) ||
         std::holds_alternative<HostToolCall>(item.content);
}

CallProgress ProgressOf(const TurnItem& item) {
  if (const auto* code = std::get_if<CodeCall>(&item.content)) return code->progress;
  return std::get<HostToolCall>(item.content).progress;
}
const RunId& RunOf(const TurnItem& item) {
  if (const auto* code = std::get_if<CodeCall>(&item.content)) return code->run;
  return std::get<HostToolCall>(item.content).run;
}
void SetRun(TurnItem& item, RunId run) {
  if (CodeCall* code = CodeOf(item)) {
    code->run = std::move(run);
  } else {
    ToolOf(item)->run = std::move(run);
  }
}

void Fill(TurnItem& item, const RunView& run) {
  if (CodeCall* code = CodeOf(item)) return Fill(*code, run);
  Fill(*ToolOf(item), run);
}
void Fill(TurnItem& item, const Error& why) {
  if (CodeCall* code = CodeOf(item)) return Fill(*code, why);
  Fill(*ToolOf(item), why);
}

void Fail(TurnItem& item, std::string why) {
  if (CodeCall* code = CodeOf(item)) {
    code->progress = CallProgress::kFailed;
    code->logs = std::move(why);
    code->is_error = true;
  } else {
    HostToolCall* const tool = ToolOf(item);
    tool->progress = CallProgress::kFailed;
    tool->output = std::move(why);
    tool->is_error = true;
  }
}

bool IsFailure(const TurnItem& item) {
  if (const auto* code = std::get_if<CodeCall>(&item.content)) return code->is_error;
  const auto& tool = std::get<HostToolCall>(item.content);
  return tool.is_error && !tool.output.starts_with(kDenied);
}

}  // namespace caisson
