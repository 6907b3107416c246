#include "tools/content.h"

namespace caisson {
namespace {

Content FromValue(const Value& value) {
  if (value.is_none()) return TextContent{};
  if (const auto* text = value.If<std::string>()) return TextContent{*text};
  if (const auto* bytes = value.If<Bytes>()) return DataContent{.bytes = bytes->data};
  auto json = ToJson(value);
  if (!json) return ErrorContent{"ValueError", "the result: " + json.error().message()};
  return TextContent{*std::move(json)};
}

}  // namespace

std::vector<Content> ToContents(const ToolAnswer& answer) {
  if (const auto* raised = std::get_if<ToolRaised>(&answer)) {
    return {ErrorContent{raised->type, raised->message}};
  }
  if (const auto* denied = std::get_if<ToolDenied>(&answer)) {
    return {ErrorContent{"ApprovalDenied", denied->message}};
  }
  return {FromValue(std::get<Value>(answer))};
}

}  // namespace caisson
