#include "agent/turn_history.h"

#include <map>
#include <optional>
#include <utility>

#include "agent/execute_code.h"
#include "agent/reply_items.h"

namespace caisson {
namespace {

using model::Item;
using model::MessageItem;
using model::ReasoningItem;
using model::TextPart;
using model::ToolResultItem;

constexpr const char* kWaits = "This call waits for a person's approval. It has not been made yet.";
constexpr const char* kNoResult = "This call has no result: it was ended before it had one.";
constexpr const char* kNoClientResult = "The client gave no result for this call.";

struct Outcome {
  std::string text;
  bool is_error = false;
};

Outcome OutcomeOf(CallProgress progress, const std::string& text, bool is_error) {
  if (progress == CallProgress::kWaiting) return {kWaits, false};
  if (progress == CallProgress::kRunning) return {kNoResult, true};
  if (text.empty() && progress == CallProgress::kFailed) return {kNoResult, true};
  return {text, is_error};
}
Outcome OutcomeOf(const CodeCall& call) {
  return OutcomeOf(call.progress, call.logs, call.is_error);
}
Outcome OutcomeOf(const HostToolCall& call) {
  return OutcomeOf(call.progress, call.output, call.is_error);
}

template <typename Call>
bool HasResult(const Call& call) {
  return call.progress == CallProgress::kCompleted || call.progress == CallProgress::kFailed;
}

class ModelItems {
 public:
  explicit ModelItems(const ItemRefs& items) : items_(items) {
    for (const TurnItem* item : items) {
      if (const auto* code = std::get_if<CodeCall>(&item->content)) Note(*code);
      if (const auto* tool = std::get_if<HostToolCall>(&item->content)) Note(*tool);
    }
  }

  std::vector<Item> Take() {
    for (std::size_t i = 0; i < items_.size(); ++i) Add(i);
    Flush();
    return std::move(out_);
  }

 private:
  struct Open {
    std::string call_id;  // As the model is shown it.
    std::string given_id;
    std::optional<ToolResultItem> result{};  // nullopt: the client's, which has not been read yet.
  };

  template <typename Call>
  void Note(const Call& call) {
    if (!call.run.str().empty() && HasResult(call)) results_[call.run.str()] = OutcomeOf(call);
  }

  // Model APIs want unique ids, and models repeat theirs.
  std::string Unique(const std::string& id) {
    const int count = ++used_[id];
    return count == 1 && !id.empty() ? id : id + "_" + std::to_string(count);
  }

  void Flush() {
    for (Open& open : open_) {
      ToolResultItem result =
          open.result.value_or(ToolResultItem{.call_id = "", .parts = {TextPart{kNoClientResult}}});
      result.call_id = open.call_id;
      out_.emplace_back(std::move(result));
    }
    open_.clear();
  }

  void AddCall(const std::string& id, std::string name, std::string arguments,
               std::optional<Outcome> outcome) {
    Open open{.call_id = Unique(id), .given_id = id};
    out_.emplace_back(model::ToolCallItem{
        .call_id = open.call_id, .name = std::move(name), .arguments = std::move(arguments)});
    if (outcome) {
      open.result = ToolResultItem{.call_id = "",
                                   .parts = {TextPart{std::move(outcome->text)}},
                                   .is_error = outcome->is_error};
    }
    open_.push_back(std::move(open));
  }

  // Returns false for the later item of a call that was shown where it was made.
  template <typename Call>
  std::optional<Outcome> Newest(const Call& call) {
    const std::string& run = call.run.str();
    if (run.empty()) return OutcomeOf(call);
    if (!shown_.insert(run).second) return std::nullopt;
    const auto found = results_.find(run);
    return found == results_.end() ? OutcomeOf(call) : found->second;
  }

  // Whether the model replied again before anybody else said something.
  bool IsReplaced(std::size_t cut) const {
    for (std::size_t i = cut + 1; i < items_.size(); ++i) {
      const auto& content = items_[i]->content;
      if (const auto* message = std::get_if<MessageItem>(&content)) {
        return message->role == model::Role::kAssistant;
      }
      if (std::holds_alternative<CodeCall>(content) ||
          std::holds_alternative<HostToolCall>(content) ||
          std::holds_alternative<ClientCall>(content)) {
        return true;
      }
    }
    return false;
  }

  void Add(std::size_t index) {
    const TurnItem& item = *items_[index];
    if (item.is_cut && IsReplaced(index)) return;
    if (const auto* message = std::get_if<MessageItem>(&item.content)) {
      Flush();
      if (!message->parts.empty()) out_.emplace_back(*message);
    } else if (const auto* reasoning = std::get_if<ReasoningItem>(&item.content)) {
      Flush();
      if (!item.is_cut) out_.emplace_back(*reasoning);
    } else if (const auto* code = std::get_if<CodeCall>(&item.content)) {
      if (auto outcome = Newest(*code)) {
        AddCall(code->call_id, std::string(kExecuteCode), CodeArgumentsText(code->code),
                std::move(outcome));
      }
    } else if (const auto* tool = std::get_if<HostToolCall>(&item.content)) {
      if (auto outcome = Newest(*tool)) {
        AddCall(tool->call_id, tool->tool, tool->arguments, std::move(outcome));
      }
    } else if (const auto* client = std::get_if<ClientCall>(&item.content)) {
      AddCall(client->call_id, client->tool, client->arguments, std::nullopt);
    } else if (const auto* result = std::get_if<ClientResult>(&item.content)) {
      AddClientResult(*result);
    }
  }

  void AddClientResult(const ClientResult& result) {
    for (Open& open : open_) {
      if (open.result || open.given_id != result.call_id) continue;
      open.result = ToolResultItem{.call_id = "", .parts = result.parts};
      return;
    }
  }

  const ItemRefs& items_;
  std::map<std::string, Outcome> results_;  // By run.
  std::set<std::string> shown_;             // Runs.
  std::map<std::string, int> used_;
  std::vector<Open> open_;
  std::vector<Item> out_;
};

}  // namespace

std::vector<Item> ToModelItems(const ItemRefs& items) {
  return ModelItems(items).Take();
}

std::vector<TurnItem> WaitingCalls(const ItemRefs& items) {
  std::map<std::string, std::size_t> waiting;  // By run: the first item of the call.
  const auto note = [&](const auto& call, std::size_t index) {
    if (call.run.str().empty()) return;
    if (call.progress == CallProgress::kWaiting) {
      waiting.emplace(call.run.str(), index);
    } else if (HasResult(call)) {
      waiting.erase(call.run.str());
    }
  };
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (const auto* code = std::get_if<CodeCall>(&items[i]->content)) note(*code, i);
    if (const auto* tool = std::get_if<HostToolCall>(&items[i]->content)) note(*tool, i);
  }
  std::set<std::size_t> order;
  for (const auto& [run, index] : waiting) order.insert(index);
  std::vector<TurnItem> calls;
  for (const std::size_t index : order) calls.push_back(*items[index]);
  return calls;
}

KnownApprovals ApprovalsIn(std::span<const TurnItem> items) {
  KnownApprovals known;
  for (const TurnItem& item : items) {
    if (const auto* request = std::get_if<ApprovalRequest>(&item.content)) {
      known.asked.insert(request->approval);
    }
    if (const auto* answer = std::get_if<ApprovalAnswer>(&item.content)) {
      known.answered.insert(answer->approval);
    }
  }
  return known;
}

std::size_t BeginOfNews(std::span<const TurnItem> input) {
  std::size_t begin = 0;
  for (std::size_t i = 0; i < input.size(); ++i) {
    const auto& content = input[i].content;
    const auto* message = std::get_if<MessageItem>(&content);
    const bool by_assistant = (message != nullptr && message->role == model::Role::kAssistant) ||
                              std::holds_alternative<ReasoningItem>(content) ||
                              std::holds_alternative<CodeCall>(content) ||
                              std::holds_alternative<HostToolCall>(content) ||
                              std::holds_alternative<ClientCall>(content) ||
                              std::holds_alternative<ApprovalRequest>(content);
    if (by_assistant) begin = i + 1;
  }
  return begin;
}

}  // namespace caisson
