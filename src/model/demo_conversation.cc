#include "model/demo_conversation.h"

#include <algorithm>
#include <cctype>

namespace caisson::model {
namespace {

constexpr std::string_view kCall = "call ";

std::string Lowered(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

}  // namespace

std::string TextOf(const std::vector<Part>& parts) {
  std::string text;
  for (const Part& part : parts) {
    if (const auto* piece = std::get_if<TextPart>(&part)) {
      text.append(text.empty() ? "" : "\n").append(piece->text);
    }
  }
  return text;
}

std::size_t CountWords(std::string_view text) {
  return CutIntoWords(text).size();
}

DemoConversation ReadConversation(const ModelRequest& request) {
  DemoConversation seen;
  seen.words = CountWords(request.instructions);
  for (const Item& item : request.items) {
    if (const auto* message = std::get_if<MessageItem>(&item)) {
      const std::string text = TextOf(message->parts);
      seen.words += CountWords(text);
      if (message->role != Role::kUser) continue;
      seen.prompt = text;
      seen.results.clear();
      seen.calls = 0;
    } else if (const auto* result = std::get_if<ToolResultItem>(&item)) {
      seen.words += CountWords(TextOf(result->parts));
      seen.results.push_back(result);
    } else if (const auto* call = std::get_if<ToolCallItem>(&item)) {
      seen.words += CountWords(call->arguments);
      ++seen.calls;
      ++seen.all_calls;
    }
  }
  const std::string lowered = Lowered(seen.prompt);
  seen.has_code = lowered.find("```") != std::string::npos;
  seen.names_tool = !seen.has_code && lowered.starts_with(kCall);
  if (!seen.has_code && !seen.names_tool) seen.keywords = lowered;
  return seen;
}

std::vector<std::string_view> CutIntoWords(std::string_view text) {
  std::vector<std::string_view> pieces;
  while (!text.empty()) {
    const std::size_t blank = text.find_first_of(" \n");
    const std::size_t next = std::min(text.find_first_not_of(" \n", blank), text.size());
    pieces.push_back(text.substr(0, next));
    text.remove_prefix(next);
  }
  return pieces;
}

}  // namespace caisson::model
