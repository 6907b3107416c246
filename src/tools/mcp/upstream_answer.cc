#include "tools/mcp/upstream_answer.h"

#include <string>
#include <utility>

#include "base/base64.h"
#include "wire/object.h"

namespace caisson {
namespace {

Value ValueOf(const Value& block) {
  const auto* fields = block.If<Dict>();
  if (fields == nullptr) return block;
  if (const auto* text = FindAs<std::string>(*fields, "text")) return *text;
  const auto* data = FindAs<std::string>(*fields, "data");
  const auto* resource = FindAs<Dict>(*fields, "resource");
  if (data == nullptr && resource != nullptr) {
    if (const auto* text = FindAs<std::string>(*resource, "text")) return *text;
    data = FindAs<std::string>(*resource, "blob");
  }
  if (data == nullptr) return block;
  auto bytes = DecodeBase64(*data);
  return bytes ? Value(Bytes{*std::move(bytes)}) : block;
}

std::string TextOf(const List* content) {
  std::string text;
  if (content == nullptr) return text;
  for (const Value& block : content->items) {
    const auto* fields = block.If<Dict>();
    const auto* part = fields == nullptr ? nullptr : FindAs<std::string>(*fields, "text");
    if (part == nullptr) continue;
    if (!text.empty()) text.push_back('\n');
    text.append(*part);
  }
  return text;
}

}  // namespace

ToolAnswer AnswerOf(const Dict& result) {
  const auto* type = FindAs<std::string>(result, "resultType");
  if (type != nullptr && *type != "complete") {
    return ToolRaised{.type = "RuntimeError",
                      .message = "the server asks for input that code cannot give"};
  }
  const auto* content = FindAs<List>(result, "content");
  const auto* failed = FindAs<bool>(result, "isError");
  if (failed != nullptr && *failed) {
    return ToolRaised{.type = "ToolError", .message = TextOf(content)};
  }
  if (const Value* structured = result.Find("structuredContent")) return *structured;
  if (content == nullptr || content->items.empty()) return Value();
  if (content->items.size() == 1) return ValueOf(content->items[0]);
  List values;
  for (const Value& block : content->items) values.items.push_back(ValueOf(block));
  return Value(std::move(values));
}

}  // namespace caisson
