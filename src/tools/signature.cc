#include "tools/signature.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/utf8.h"
#include "tools/python_names.h"

namespace caisson {
namespace {

constexpr int kMaxDepth = 6;  // Of nested types; references may be cyclic.
constexpr std::size_t kMaxLiteral = 80;
constexpr std::size_t kMaxAnnotation = 240;
constexpr std::size_t kMaxDescription = 4096;
constexpr std::size_t kMaxLine = 400;
constexpr std::string_view kAny = "Any";
constexpr bool kByPosition = false;  // In the guest's form: the parameter is not keyword-only.

std::string Cut(std::string text, std::size_t most) {
  if (text.size() <= most) return text;
  std::size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

enum class Lines { kOne, kMany };

// Makes text safe inside """: removes what would end it, and control characters.
std::string Quoted(std::string_view text, Lines lines, std::size_t most) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool breaks = c == '\n' || c == '\r';
    if (breaks && lines == Lines::kOne) {
      out += ' ';
    } else if (c == '\n') {
      out += "\n    ";
    } else if (c == '\\' || c == '"') {
      out += {'\\', c};
    } else if ((byte >= 0x20 && byte != 0x7f) || c == '\t') {
      out += c;
    }
  }
  return Cut(std::move(out), most);
}

std::string Joined(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (const std::string& part : parts) {
    out.append(&part == parts.data() ? "" : separator).append(part);
  }
  return out;
}

bool IsScalar(const Value& value) {
  return value.is_none() || value.If<bool>() != nullptr || value.If<std::int64_t>() != nullptr ||
         value.If<std::string>() != nullptr;
}

// Writes Python annotations for one schema document.
class Annotator {
 public:
  explicit Annotator(const Schema& schema) : schema_(schema) {}

  std::string Annotation(const Value& subschema) const {
    std::string text = Joined(Unite(Types(subschema, 0)), " | ");
    return text.size() > kMaxAnnotation ? std::string(kAny) : text;
  }

  // Returns the allowed JSON types; empty if any is allowed.
  std::vector<std::string> JsonTypes(const Value& subschema) const {
    std::vector<std::string> names;
    return CollectTypes(subschema, 0, names) ? names : std::vector<std::string>();
  }

  const Dict* Resolved(const Value& subschema, int depth) const {
    const auto* dict = subschema.If<Dict>();
    if (dict == nullptr || depth > kMaxDepth) return nullptr;
    const Value* reference = dict->Find("$ref");
    if (reference == nullptr) return dict;
    const auto* text = reference->If<std::string>();
    const Value* target = text == nullptr ? nullptr : schema_.Resolve(*text);
    return target == nullptr ? nullptr : Resolved(*target, depth + 1);
  }

 private:
  static std::vector<std::string> Unite(std::vector<std::string> types) {
    std::vector<std::string> united;
    for (std::string& type : types) {
      if (type == kAny) return {std::string(kAny)};
      if (std::ranges::find(united, type) == united.end()) united.push_back(std::move(type));
    }
    // None reads best at the end.
    const auto none = std::ranges::find(united, "None");
    if (none != united.end()) std::rotate(none, none + 1, united.end());
    return united;
  }

  std::vector<std::string> Types(const Value& subschema, int depth) const {
    const Dict* dict = Resolved(subschema, depth);
    if (dict == nullptr) return {std::string(kAny)};
    if (const Value* constant = dict->Find("const")) return Literals({*constant});
    if (const Value* choices = dict->Find("enum")) {
      const auto* list = choices->If<List>();
      return list == nullptr ? std::vector<std::string>{std::string(kAny)} : Literals(list->items);
    }
    for (const std::string_view keyword : {"anyOf", "oneOf"}) {
      const Value* alternatives = dict->Find(keyword);
      if (alternatives != nullptr) return Alternatives(*alternatives, depth);
    }
    if (const Value* all = dict->Find("allOf"); all != nullptr && dict->Find("type") == nullptr) {
      return FirstKnown(*all, depth);
    }
    const Value* type = dict->Find("type");
    if (type == nullptr) return {std::string(kAny)};
    if (const auto* name = type->If<std::string>()) return {Named(*name, *dict, depth)};
    std::vector<std::string> types;
    if (const auto* list = type->If<List>()) {
      for (const Value& item : list->items) {
        if (const auto* name = item.If<std::string>()) types.push_back(Named(*name, *dict, depth));
      }
    }
    return types.empty() ? std::vector<std::string>{std::string(kAny)} : types;
  }

  static std::vector<std::string> Literals(const std::vector<Value>& values) {
    std::vector<std::string> literals;
    for (const Value& value : values) {
      if (!IsScalar(value)) return {std::string(kAny)};
      literals.push_back(PythonLiteral(value));
    }
    if (literals.empty()) return {std::string(kAny)};
    return {"Literal[" + Joined(literals, ", ") + "]"};
  }

  std::vector<std::string> Alternatives(const Value& alternatives, int depth) const {
    std::vector<std::string> types;
    const auto* list = alternatives.If<List>();
    if (list == nullptr) return {std::string(kAny)};
    for (const Value& item : list->items) {
      for (std::string& type : Types(item, depth + 1)) types.push_back(std::move(type));
    }
    return Unite(std::move(types));
  }

  std::vector<std::string> FirstKnown(const Value& all, int depth) const {
    const auto* list = all.If<List>();
    if (list == nullptr) return {std::string(kAny)};
    for (const Value& item : list->items) {
      auto types = Types(item, depth + 1);
      if (types.size() != 1 || types[0] != kAny) return types;
    }
    return {std::string(kAny)};
  }

  std::string Named(const std::string& type, const Dict& dict, int depth) const {
    if (type == "string") return "str";
    if (type == "integer") return "int";
    if (type == "number") return "float";
    if (type == "boolean") return "bool";
    if (type == "null") return "None";
    const auto inner = [&](std::string_view keyword) -> std::string {
      const Value* child = dict.Find(keyword);
      if (child == nullptr || child->If<Dict>() == nullptr) return {};
      const std::string text = Joined(Unite(Types(*child, depth + 1)), " | ");
      return text == kAny ? std::string() : text;
    };
    if (type == "array") {
      const std::string item = dict.Find("prefixItems") == nullptr ? inner("items") : "";
      return item.empty() ? "list" : "list[" + item + "]";
    }
    const bool is_plain =
        dict.Find("properties") == nullptr && dict.Find("patternProperties") == nullptr;
    const std::string value = is_plain ? inner("additionalProperties") : "";
    return value.empty() ? "dict" : "dict[str, " + value + "]";
  }

  // Returns false if any type is allowed.
  bool CollectTypes(const Value& subschema, int depth, std::vector<std::string>& names) const {
    const auto add = [&](const Value& name) {
      const auto* text = name.If<std::string>();
      if (text != nullptr && std::ranges::find(names, *text) == names.end()) names.push_back(*text);
      return text != nullptr;
    };
    const Dict* dict = Resolved(subschema, depth);
    if (dict == nullptr) return false;
    if (const Value* type = dict->Find("type")) {
      const auto* list = type->If<List>();
      return list == nullptr ? add(*type) : std::ranges::all_of(list->items, add);
    }
    for (const std::string_view keyword : {"anyOf", "oneOf"}) {
      const Value* alternatives = dict->Find(keyword);
      const auto* list = alternatives == nullptr ? nullptr : alternatives->If<List>();
      if (list == nullptr) continue;
      return std::ranges::all_of(
          list->items, [&](const Value& item) { return CollectTypes(item, depth + 1, names); });
    }
    return false;
  }

  const Schema& schema_;
};

Parameter MakeParameter(const std::string& name, const Value& subschema,
                        const Annotator& annotator) {
  Parameter parameter{.name = name,
                      .annotation = annotator.Annotation(subschema),
                      .presence = Presence::kOptional,
                      .json_types = annotator.JsonTypes(subschema)};
  const Dict* dict = annotator.Resolved(subschema, 0);
  const auto* own = subschema.If<Dict>();
  for (const Dict* place : {own, dict}) {
    if (place == nullptr) continue;
    if (const Value* value = place->Find("default"); value != nullptr) {
      parameter.presence = Presence::kDefault;
      parameter.default_value = *value;
    }
    const Value* description = place->Find("description");
    const auto* text = description == nullptr ? nullptr : description->If<std::string>();
    if (text != nullptr && parameter.description.empty()) parameter.description = *text;
  }
  return parameter;
}

void MarkRequired(Signature& signature, const Dict& schema) {
  const Value* required = schema.Find("required");
  const auto* names = required == nullptr ? nullptr : required->If<List>();
  if (names == nullptr) return;
  for (Parameter& parameter : signature.parameters) {
    if (std::ranges::find(names->items, Value(parameter.name)) != names->items.end()) {
      parameter.presence = Presence::kRequired;
    }
  }
}

// Python demands it.
void PutRequiredFirst(Signature& signature) {
  std::vector<Parameter> ordered;
  std::vector<Parameter> others;
  for (Parameter& parameter : signature.parameters) {
    (parameter.presence == Presence::kRequired ? ordered : others).push_back(std::move(parameter));
  }
  std::ranges::move(others, std::back_inserter(ordered));
  signature.parameters = std::move(ordered);
}

std::string Default(const Parameter& parameter) {
  switch (parameter.presence) {
    case Presence::kRequired:
      return "";
    case Presence::kDefault:
      return " = " + PythonLiteral(parameter.default_value);
    case Presence::kOptional:
      return " = ...";
  }
  return "";
}

}  // namespace

std::string PythonLiteral(const Value& value) {
  if (value.is_none()) return "None";
  if (const auto* flag = value.If<bool>()) return *flag ? "True" : "False";
  std::string text;
  const auto put_items = [&](const std::vector<Value>& items, char open, char close) {
    text += open;
    for (const Value& item : items) {
      if (text.size() > kMaxLiteral) break;
      text.append(&item == items.data() ? "" : ", ").append(PythonLiteral(item));
    }
    text += close;
  };
  if (const auto* list = value.If<List>()) {
    put_items(list->items, '[', ']');
  } else if (const auto* dict = value.If<Dict>()) {
    text += '{';
    for (const auto& [key, item] : dict->items) {
      if (text.size() > kMaxLiteral) break;
      text.append(text.size() == 1 ? "" : ", ").append(PythonLiteral(key)).append(": ");
      text.append(PythonLiteral(item));
    }
    text += '}';
  } else {
    // The remaining values are written in Python as in JSON.
    const auto json = ToJson(value);
    text = json ? *json : "...";
  }
  return text.size() > kMaxLiteral ? "..." : text;
}

std::string Signature::Call() const {
  const bool is_function = IsPythonFunctionName(name);
  std::string text = is_function ? name + "(" : "call_tool(" + PythonLiteral(Value(name)) + ", {";
  bool first = true;
  const auto separate = [&] { text.append(std::exchange(first, false) ? "" : ", "); };
  for (const Parameter& parameter : parameters) {
    const bool nameable = IsPythonIdentifier(parameter.name);
    separate();
    if (is_function && nameable) {
      text.append(parameter.name);
    } else {
      text.append(is_function ? "**{" : "").append(PythonLiteral(Value(parameter.name)));
    }
    text.append(": ").append(parameter.annotation).append(Default(parameter));
    if (is_function && !nameable) text += '}';
  }
  if (takes_more) {
    separate();
    text += is_function ? "**more" : "...";
  }
  return text + (is_function ? ")" : "})");
}

std::string Signature::Text() const {
  std::string text = (IsPythonFunctionName(name) ? "def " : "") + Call() + " -> " + returns + ":\n";
  text += "    \"\"\"" + Quoted(description, Lines::kMany, kMaxDescription);
  bool first = true;
  for (const Parameter& parameter : parameters) {
    if (parameter.description.empty()) continue;
    text += std::exchange(first, false) ? "\n\n    " : "\n    ";
    text += Quoted(parameter.name, Lines::kOne, kMaxLine) + ": " +
            Quoted(parameter.description, Lines::kOne, kMaxLine);
  }
  return text + (first ? "\"\"\"\n" : "\n    \"\"\"\n");
}

Value Signature::Encode() const {
  List encoded;
  for (const Parameter& parameter : parameters) {
    List types;
    for (const std::string& type : parameter.json_types) types.items.emplace_back(type);
    encoded.items.emplace_back(
        Tuple{{parameter.name, parameter.annotation, static_cast<std::int64_t>(parameter.presence),
               parameter.default_value, std::move(types), kByPosition}});
  }
  Dict dict;
  dict.items.emplace_back(std::string("name"), name);
  dict.items.emplace_back(std::string("doc"), description);
  dict.items.emplace_back(std::string("returns"), returns);
  dict.items.emplace_back(std::string("more"), takes_more);
  dict.items.emplace_back(std::string("parameters"), std::move(encoded));
  return dict;
}

Signature MakeSignature(std::string name, std::string description, const Schema& input,
                        const Schema* output) {
  Signature signature{.name = std::move(name), .description = std::move(description)};
  const Annotator annotator(input);
  if (const Dict* schema = annotator.Resolved(input.document(), 0)) {
    const Value* value = schema->Find("properties");
    const auto* properties = value == nullptr ? nullptr : value->If<Dict>();
    if (properties != nullptr) {
      for (const auto& [key, subschema] : properties->items) {
        const auto* text = key.If<std::string>();
        if (text == nullptr) continue;
        signature.parameters.push_back(MakeParameter(*text, subschema, annotator));
      }
    }
    MarkRequired(signature, *schema);
    PutRequiredFirst(signature);
    const Value* additional = schema->Find("additionalProperties");
    signature.takes_more =
        (additional != nullptr && *additional != Value(false)) || schema->Find("patternProperties");
  }
  if (output != nullptr) {
    signature.returns = Annotator(*output).Annotation(output->document());
  }
  return signature;
}

}  // namespace caisson
