#include "model/demo_arguments.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/json_quote.h"
#include "wire/object.h"

namespace caisson::model {
namespace {

// Words for parameters whose names are known.
constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kWords = {{
    {"to", "ann@example.com"},
    {"recipient", "ann@example.com"},
    {"recipients", "ann@example.com"},
    {"email", "ann@example.com"},
    {"subject", "Hello"},
    {"body", "Hello Ann, this is the demo model."},
    {"text", "Hello Ann, this is the demo model."},
    {"message", "Hello Ann, this is the demo model."},
    {"city", "Paris"},
    {"url", "https://example.com/"},
}};

std::string_view WordFor(std::string_view name) {
  for (const auto& [known, word] : kWords) {
    if (known == name) return word;
  }
  return "demo";
}

std::string TypeOf(const Dict& schema) {
  const Value* type = schema.Find("type");
  if (type == nullptr) return "string";
  if (const auto* name = type->If<std::string>()) return *name;
  const auto* several = type->If<List>();
  if (several == nullptr || several->items.empty()) return "string";
  const auto* first = several->items.front().If<std::string>();
  return first == nullptr ? "string" : *first;
}

Value Sample(std::string_view name, const Value* property) {
  const Dict* schema = property == nullptr ? nullptr : property->If<Dict>();
  if (schema == nullptr) return std::string(WordFor(name));
  const auto* choices = FindAs<List>(*schema, "enum");
  if (choices != nullptr && !choices->items.empty()) return choices->items.front();
  for (const std::string_view key : {"const", "default"}) {
    if (const Value* value = schema->Find(key)) return *value;
  }
  const std::string type = TypeOf(*schema);
  if (type == "integer") return std::int64_t{1};
  if (type == "number") return 1.5;
  if (type == "boolean") return true;
  if (type == "array") return List{};
  if (type == "object") return SampleArguments(*property);
  if (type == "null") return Value();
  return std::string(WordFor(name));
}

// Returns the start of `text` up to a comma or the closing bracket on the outermost level.
std::string_view OneParameter(std::string_view text) {
  int depth = 0;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == '\\') ++i;
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '[' || c == '(' || c == '{') {
      ++depth;
    } else if ((c == ',' || c == ')') && depth == 0) {
      return text.substr(0, i);
    } else if (c == ']' || c == ')' || c == '}') {
      --depth;
    }
  }
  return text;
}

// Returns a Python literal of the annotated type.
std::string Literal(std::string_view name, std::string_view annotation) {
  constexpr std::string_view kLiteral = "Literal[";
  if (annotation.starts_with(kLiteral)) {
    std::string_view first = annotation.substr(kLiteral.size());
    first = first.substr(0, first.size() - 1);
    return std::string(OneParameter(first));
  }
  if (annotation.starts_with("int")) return "1";
  if (annotation.starts_with("float")) return "1.5";
  if (annotation.starts_with("bool")) return "True";
  if (annotation.starts_with("list")) return "[]";
  if (annotation.starts_with("dict")) return "{}";
  return JsonQuoted(WordFor(name));
}

// Returns `name="value", ...` for the required parameters; `rest` begins after the bracket.
std::string RequiredArguments(std::string_view rest) {
  std::string arguments;
  while (!rest.empty() && rest.front() != ')') {
    const std::string_view parameter = OneParameter(rest);
    rest.remove_prefix(parameter.size());
    while (rest.starts_with(',') || rest.starts_with(' ')) rest.remove_prefix(1);
    const std::size_t colon = parameter.find(": ");
    const bool is_required = colon != parameter.npos && !parameter.starts_with('*') &&
                             parameter.find(" = ") == parameter.npos;
    if (!is_required) continue;
    const std::string_view name = parameter.substr(0, colon);
    if (!arguments.empty()) arguments.append(", ");
    arguments.append(name).append("=").append(Literal(name, parameter.substr(colon + 2)));
  }
  return arguments;
}

}  // namespace

Dict SampleArguments(const Value& input_schema) {
  Dict arguments;
  const Dict* schema = input_schema.If<Dict>();
  if (schema == nullptr) return arguments;
  const auto* required = FindAs<List>(*schema, "required");
  const auto* properties = FindAs<Dict>(*schema, "properties");
  if (required == nullptr) return arguments;
  for (const Value& item : required->items) {
    const auto* name = item.If<std::string>();
    if (name == nullptr || arguments.Find(*name) != nullptr) continue;
    const Value* property = properties == nullptr ? nullptr : properties->Find(*name);
    Append(arguments, *name, Sample(*name, property));
  }
  return arguments;
}

std::string SendingCall(std::string_view signatures) {
  constexpr std::string_view kDef = "def ";
  for (std::size_t at = signatures.find(kDef); at != signatures.npos;
       at = signatures.find(kDef, at + 1)) {
    const std::string_view rest = signatures.substr(at + kDef.size());
    const std::size_t bracket = rest.find('(');
    if (bracket == rest.npos) break;
    const std::string_view name = rest.substr(0, bracket);
    const bool is_name = std::ranges::all_of(
        name, [](char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; });
    const bool sends = name.find("send") != name.npos || name.find("mail") != name.npos;
    if (!is_name || !sends) continue;
    return std::string(name) + "(" + RequiredArguments(rest.substr(bracket + 1)) + ")";
  }
  return "";
}

}  // namespace caisson::model
