#include "cli/turn_display.h"

#include <utility>
#include <variant>

namespace caisson::cli {
namespace {

std::string_view Heading(ItemDelta::Kind kind) {
  switch (kind) {
    case ItemDelta::Kind::kReasoning:
      return "reasoning";
    case ItemDelta::Kind::kCode:
      return "code";
    case ItemDelta::Kind::kArguments:
      return "call of ";
    case ItemDelta::Kind::kOutput:
      return "output";
    case ItemDelta::Kind::kText:
    case ItemDelta::Kind::kRefusal:
      break;
  }
  return "";
}

bool IsSaid(ItemDelta::Kind kind) {
  return kind == ItemDelta::Kind::kText || kind == ItemDelta::Kind::kRefusal;
}

std::string_view Explain(TurnEnding ending) {
  switch (ending) {
    case TurnEnding::kIterations:
      return "the model called tools too often in a row";
    case TurnEnding::kErrors:
      return "too many calls in a row failed";
    case TurnEnding::kCalls:
      return "the model made too many calls";
    case TurnEnding::kTokens:
      return "the turn used too many tokens";
    case TurnEnding::kOutputTokens:
      return "the reply reached its maximum length";
    case TurnEnding::kContentFilter:
      return "a content filter ended the reply";
    case TurnEnding::kWallTime:
      return "the turn took too long";
    case TurnEnding::kModel:
      return "the model failed";
    case TurnEnding::kStore:
      return "the turn could not be stored";
    case TurnEnding::kNone:
      break;
  }
  return "the turn failed";
}

}  // namespace

void TurnDisplay::FinishLines() {
  out_.FinishLine();
  err_.FinishLine();
}

void TurnDisplay::Begin(const std::string& item, Kind kind) {
  if (item == item_ && kind == kind_) return;
  FinishLines();
  item_ = item;
  kind_ = kind;
  if (IsSaid(kind)) return;
  err_.Write("--- " + std::string(Heading(kind)));
  if (kind == Kind::kArguments) err_.WriteGuest(tools_[item]);
  err_.Write("\n");
}

void TurnDisplay::Write(const std::string& item, Kind kind, std::string_view text) {
  if (text.empty()) return;
  std::string& written = written_[{item, kind}];
  const bool is_repeated =
      written.empty() && !IsSaid(kind) && waiting_.erase(std::string(text)) != 0;
  written.append(text);
  if (is_repeated) return;
  Begin(item, kind);
  (IsSaid(kind) ? out_ : err_).WriteGuest(text);
}

void TurnDisplay::Complete(const std::string& item, Kind kind, std::string_view text) {
  const std::string& before = written_[{item, kind}];
  if (text.starts_with(before)) text.remove_prefix(before.size());
  Write(item, kind, text);
}

void TurnDisplay::ShowCode(const std::string& item, const CodeCall& call) {
  Complete(item, Kind::kCode, call.code);
  if (call.progress == CallProgress::kWaiting) {
    waiting_.insert(call.code);
    return;
  }
  Complete(item, Kind::kOutput, call.logs);
  FinishLines();
  for (const TurnFile& file : call.files) {
    err_.Write("--- file ");
    err_.WriteGuest(file.path);
    err_.Write(" (" + std::to_string(file.bytes) + " bytes)\n");
  }
}

void TurnDisplay::ShowCall(const std::string& item, const HostToolCall& call) {
  tools_[item] = call.tool;
  Complete(item, Kind::kArguments, call.arguments);
  if (call.progress == CallProgress::kWaiting) {
    waiting_.insert(call.arguments);
    return;
  }
  Complete(item, Kind::kOutput, call.output);
}

void TurnDisplay::ShowDone(const TurnItem& item) {
  if (const auto* message = std::get_if<model::MessageItem>(&item.content)) {
    for (const model::Part& part : message->parts) {
      if (const auto* text = std::get_if<model::TextPart>(&part)) {
        Complete(item.id, Kind::kText, text->text);
      } else if (const auto* refusal = std::get_if<model::RefusalPart>(&part)) {
        Complete(item.id, Kind::kRefusal, refusal->text);
      }
    }
  } else if (const auto* reasoning = std::get_if<model::ReasoningItem>(&item.content)) {
    Complete(item.id, Kind::kReasoning, reasoning->text);
  } else if (const auto* code = std::get_if<CodeCall>(&item.content)) {
    ShowCode(item.id, *code);
  } else if (const auto* call = std::get_if<HostToolCall>(&item.content)) {
    ShowCall(item.id, *call);
  }
  std::erase_if(written_, [&](const auto& entry) { return entry.first.first == item.id; });
  tools_.erase(item.id);
  FinishLines();
}

void TurnDisplay::Show(const TurnEvent& event) {
  if (const auto* added = std::get_if<ItemAdded>(&event.event)) {
    const auto* call = std::get_if<HostToolCall>(&added->item.content);
    if (call != nullptr) tools_[added->item.id] = call->tool;
  } else if (const auto* delta = std::get_if<ItemDelta>(&event.event)) {
    Write(delta->item, delta->kind, delta->text);
  } else if (const auto* done = std::get_if<ItemDone>(&event.event)) {
    ShowDone(done->item);
  }
}

void TurnDisplay::ShowEnding(const TurnView& turn) {
  FinishLines();
  const bool ended_early = turn.state == TurnState::kFailed || turn.state == TurnState::kIncomplete;
  if (!ended_early) return;
  err_.Write("caisson: " + std::string(Explain(turn.ending)));
  if (!turn.error.empty()) {
    err_.Write(": ");
    err_.WriteGuest(turn.error);
  }
  err_.Write("\n");
}

}  // namespace caisson::cli
