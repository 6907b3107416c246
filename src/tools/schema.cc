#include "tools/schema.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "tools/json_equality.h"
#include "tools/schema_node.h"

namespace caisson {
namespace {

constexpr std::size_t kMaxNodes = 20'000;
constexpr int kMaxDepth = 100;
constexpr std::int64_t kPatternMemory = 1 << 20;
constexpr std::size_t kMaxShown = 200;

std::string Escaped(std::string_view key) {
  std::string out;
  for (const char c : key) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

// Decodes one step of a JSON pointer in a fragment: %XX first, then ~1 and ~0.
std::optional<std::string> Unescaped(std::string_view step) {
  std::string bytes;
  for (std::size_t i = 0; i < step.size(); ++i) {
    if (step[i] != '%') {
      bytes += step[i];
      continue;
    }
    unsigned code = 0;
    const std::string_view digits = step.substr(i + 1, 2);
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    if (digits.size() != 2 || parsed.ptr != digits.data() + 2) return std::nullopt;
    bytes += static_cast<char>(code);
    i += 2;
  }
  std::string key;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] != '~') {
      key += bytes[i];
    } else if (++i < bytes.size() && (bytes[i] == '0' || bytes[i] == '1')) {
      key += bytes[i] == '0' ? '~' : '/';
    } else {
      return std::nullopt;
    }
  }
  return key;
}

const Value* Child(const Value& parent, const std::string& step) {
  if (const auto* dict = parent.If<Dict>()) return dict->Find(step);
  const auto* list = parent.If<List>();
  std::size_t index = 0;
  const auto parsed = std::from_chars(step.data(), step.data() + step.size(), index);
  const bool whole = !step.empty() && parsed.ptr == step.data() + step.size();
  if (list == nullptr || !whole || parsed.ec != std::errc() || index >= list->items.size()) {
    return nullptr;
  }
  return &list->items[index];
}

const Value* FollowPointer(const Value& document, std::string_view pointer) {
  const Value* at = &document;
  while (at != nullptr && !pointer.empty()) {
    pointer.remove_prefix(1);  // The slash.
    const std::size_t end = std::min(pointer.find('/'), pointer.size());
    const auto step = Unescaped(pointer.substr(0, end));
    if (!step) return nullptr;
    at = Child(*at, *step);
    pointer.remove_prefix(end);
  }
  return at;
}

const Value* Lookup(const Value& document, const std::map<std::string, const Value*>& anchors,
                    std::string_view reference) {
  if (!reference.starts_with('#')) return nullptr;
  reference.remove_prefix(1);
  if (reference.empty() || reference.starts_with('/')) return FollowPointer(document, reference);
  const auto anchor = anchors.find(std::string(reference));
  return anchor == anchors.end() ? nullptr : anchor->second;
}

// Converts ECMAScript's \uXXXX and (?<name>...) to RE2's syntax. Other common syntax is the same.
std::string InRe2Spelling(std::string_view pattern) {
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const std::string_view rest = pattern.substr(i);
    if (rest.starts_with("\\u") && rest.size() >= 6) {
      out.append("\\x{").append(rest.substr(2, 4)).append("}");
      i += 5;
    } else if (rest.starts_with("(?<") && rest.size() > 3 && rest[3] != '=' && rest[3] != '!') {
      out.append("(?P<");
      i += 2;
    } else if (rest.front() == '\\' && rest.size() > 1) {
      out.append(rest.substr(0, 2));
      ++i;
    } else {
      out += rest.front();
    }
  }
  return out;
}

std::string Shown(const Value& value) {
  std::string json = ToJson(value) ? *ToJson(value) : std::string("a value JSON cannot hold");
  if (json.size() > kMaxShown) json = json.substr(0, kMaxShown) + "...";
  return json;
}

}  // namespace

// Compiles one document. Every error names its place.
class SchemaCompiler {
 public:
  explicit SchemaCompiler(Value document) : compiled_(std::make_shared<Schema::Compiled>()) {
    compiled_->document = std::move(document);
  }

  Result<Schema> Compile() {
    TRY_ASSIGN(compiled_->root, NodeFor(compiled_->document, "", 0));
    // A reference may point to a place that no keyword has compiled as a schema yet.
    for (std::size_t i = 0; i < references_.size(); ++i) {
      const Reference reference = references_[i];
      const Value* target = Lookup(compiled_->document, compiled_->anchors, reference.text);
      if (target == nullptr) {
        return Bad(reference.place,
                   "\"" + reference.text +
                       "\" does not exist in this schema; only references inside it are supported");
      }
      TRY_ASSIGN(const SchemaNode* node, NodeFor(*target, reference.text, 0));
      reference.from->references.push_back(node);
    }
    return Schema(std::move(compiled_));
  }

 private:
  struct Reference {
    SchemaNode* from;
    std::string text;
    std::string place;
  };

  static Error Bad(const std::string& place, std::string_view problem) {
    return Error(
        ErrorCode::kInvalidArgument,
        "schema" + (place.empty() ? std::string() : " " + place) + ": " + std::string(problem));
  }

  Result<const SchemaNode*> NodeFor(const Value& schema, const std::string& place, int depth) {
    if (const auto known = by_place_.find(&schema); known != by_place_.end()) return known->second;
    if (depth > kMaxDepth) return Bad(place, "nested too deeply");
    if (compiled_->nodes.size() >= kMaxNodes) return Bad(place, "too large");
    SchemaNode& node = *compiled_->nodes.emplace_back(std::make_unique<SchemaNode>());
    by_place_.emplace(&schema, &node);
    if (const auto* fixed = schema.If<bool>()) {
      node.fixed = *fixed;
      return &node;
    }
    if (schema.If<Dict>() == nullptr) return Bad(place, "a schema is an object, true or false");
    TRY(Keywords(*this, schema, place, depth, node).Compile());
    return &node;
  }

  // The keywords of one schema object.
  class Keywords {
   public:
    Keywords(SchemaCompiler& compiler, const Value& schema, const std::string& place, int depth,
             SchemaNode& node)
        : compiler_(compiler), schema_(schema), place_(place), depth_(depth), node_(node) {}

    Result<void> Compile() {
      TRY(References());
      TRY(Types());
      TRY(Numbers());
      TRY(Strings());
      TRY(Arrays());
      TRY(Objects());
      return Combinations();
    }

   private:
    std::string At(std::string_view keyword) const { return place_ + "/" + Escaped(keyword); }
    Error Wrong(std::string_view keyword, std::string_view problem) const {
      return Bad(At(keyword), problem);
    }
    const Value* Get(std::string_view keyword) const { return schema_.If<Dict>()->Find(keyword); }

    Result<void> One(std::string_view keyword, const SchemaNode*& out) {
      const Value* schema = Get(keyword);
      if (schema == nullptr) return {};
      TRY_ASSIGN(out, compiler_.NodeFor(*schema, At(keyword), depth_ + 1));
      return {};
    }

    Result<void> Many(std::string_view keyword, std::vector<const SchemaNode*>& out) {
      const Value* value = Get(keyword);
      if (value == nullptr) return {};
      const auto* list = value->If<List>();
      if (list == nullptr || list->items.empty()) {
        return Wrong(keyword, "must be a list of at least one schema");
      }
      for (std::size_t i = 0; i < list->items.size(); ++i) {
        TRY_ASSIGN(
            const SchemaNode* node,
            compiler_.NodeFor(list->items[i], At(keyword) + "/" + std::to_string(i), depth_ + 1));
        out.push_back(node);
      }
      return {};
    }

    // Calls `take(key, node)` for each schema of an object of schemas.
    template <typename Take>
    Result<void> Named(std::string_view keyword, Take take) {
      const Value* value = Get(keyword);
      if (value == nullptr) return {};
      const auto* dict = value->If<Dict>();
      if (dict == nullptr) return Wrong(keyword, "must be an object of schemas");
      for (const auto& [key, schema] : dict->items) {
        const auto* name = key.If<std::string>();
        if (name == nullptr) return Wrong(keyword, "has a key that is not a string");
        TRY_ASSIGN(const SchemaNode* node,
                   compiler_.NodeFor(schema, At(keyword) + "/" + Escaped(*name), depth_ + 1));
        TRY(take(*name, node));
      }
      return {};
    }

    Result<void> Count(std::string_view keyword, std::optional<std::uint64_t>& out) {
      const Value* value = Get(keyword);
      if (value == nullptr) return {};
      const bool fits = IsIntegral(*value) && CompareNumbers(*value, Value(std::int64_t{0})) >= 0 &&
                        CompareNumbers(*value, Value(INT64_MAX)) <= 0;
      if (!fits) return Wrong(keyword, "must be a whole number that is not negative");
      const auto* number = value->If<std::int64_t>();
      out = number != nullptr ? static_cast<std::uint64_t>(*number)
                              : static_cast<std::uint64_t>(*value->If<double>());
      return {};
    }

    Result<void> Number(std::string_view keyword, std::optional<Value>& out) {
      const Value* value = Get(keyword);
      if (value == nullptr) return {};
      const auto* real = value->If<double>();
      const bool finite = real == nullptr || std::isfinite(*real);
      if (!finite || CompareNumbers(*value, *value) != 0) {
        return Wrong(keyword, "must be a number");
      }
      out = *value;
      return {};
    }

    Result<std::vector<std::string>> Names(const Value& value, std::string_view keyword) const {
      const auto* list = value.If<List>();
      if (list == nullptr) return Wrong(keyword, "must be a list of names");
      std::vector<std::string> names;
      for (const Value& item : list->items) {
        const auto* name = item.If<std::string>();
        if (name == nullptr) return Wrong(keyword, "must be a list of names");
        names.push_back(*name);
      }
      return names;
    }

    Result<SchemaNode::Pattern> Pattern(std::string_view keyword, const std::string& text) const {
      re2::RE2::Options options;
      options.set_log_errors(false);
      options.set_max_mem(kPatternMemory);
      auto pattern = std::make_shared<const re2::RE2>(InRe2Spelling(text), options);
      if (!pattern->ok()) {
        return Wrong(keyword, "pattern \"" + text.substr(0, kMaxShown) +
                                  "\" is not supported: " + pattern->error());
      }
      return pattern;
    }

    Result<void> References() {
      for (const std::string_view keyword : {"$ref", "$dynamicRef"}) {
        const Value* value = Get(keyword);
        if (value == nullptr) continue;
        const auto* text = value->If<std::string>();
        if (text == nullptr) return Wrong(keyword, "must be a string");
        compiler_.references_.push_back({&node_, *text, At(keyword)});
      }
      for (const std::string_view keyword : {"$anchor", "$dynamicAnchor"}) {
        const Value* value = Get(keyword);
        if (value == nullptr) continue;
        const auto* name = value->If<std::string>();
        if (name == nullptr) return Wrong(keyword, "must be a string");
        const auto [known, fresh] = compiler_.compiled_->anchors.emplace(*name, &schema_);
        if (!fresh && known->second != &schema_) return Wrong(keyword, "is defined twice");
      }
      const auto ignore = [](const std::string&, const SchemaNode*) { return Result<void>(); };
      TRY(Named("$defs", ignore));
      return Named("definitions", ignore);  // Older documents keep them there.
    }

    Result<void> Types() {
      if (const Value* value = Get("type")) {
        TypeBits bits = 0;
        const auto* list = value->If<List>();
        const std::vector<Value> single{*value};
        for (const Value& item : list != nullptr ? list->items : single) {
          const auto* name = item.If<std::string>();
          const auto* known =
              std::ranges::find(kTypeNames, name != nullptr ? *name : "", &TypeName::name);
          if (known == std::end(kTypeNames)) {
            return Wrong("type",
                         "must be null, boolean, integer, number, string, array or object, "
                         "or a list of those");
          }
          bits |= known->bit;
        }
        node_.types = bits;
      }
      if (const Value* value = Get("const")) {
        node_.constant = SchemaNode::Choice{{CanonicalText(*value)}, Shown(*value)};
      }
      return Enumeration();
    }

    Result<void> Enumeration() {
      const Value* value = Get("enum");
      if (value == nullptr) return {};
      const auto* list = value->If<List>();
      if (list == nullptr) return Wrong("enum", "must be a list");
      SchemaNode::Choice& choice = node_.enumeration.emplace();
      for (const Value& item : list->items) {
        choice.canonical.insert(CanonicalText(item));
        if (choice.shown.size() > kMaxShown) continue;
        choice.shown.append(choice.shown.empty() ? "" : ", ").append(Shown(item));
        if (choice.shown.size() > kMaxShown) choice.shown.append(", ...");
      }
      return {};
    }

    Result<void> Numbers() {
      TRY(Number("multipleOf", node_.multiple_of));
      if (node_.multiple_of && !(CompareNumbers(*node_.multiple_of, Value(std::int64_t{0})) > 0)) {
        return Wrong("multipleOf", "must be above 0");
      }
      TRY(Number("minimum", node_.minimum));
      TRY(Number("exclusiveMinimum", node_.exclusive_minimum));
      TRY(Number("maximum", node_.maximum));
      return Number("exclusiveMaximum", node_.exclusive_maximum);
    }

    Result<void> Strings() {
      TRY(Count("minLength", node_.min_length));
      TRY(Count("maxLength", node_.max_length));
      const Value* value = Get("pattern");
      if (value == nullptr) return {};
      const auto* text = value->If<std::string>();
      if (text == nullptr) return Wrong("pattern", "must be a string");
      node_.pattern_text = *text;
      TRY_ASSIGN(node_.pattern, Pattern("pattern", *text));
      return {};
    }

    Result<void> Arrays() {
      TRY(Many("prefixItems", node_.prefix_items));
      if (const Value* items = Get("items"); items != nullptr && items->If<List>() != nullptr) {
        return Wrong("items", "must be a schema; a list of them is called prefixItems");
      }
      TRY(One("items", node_.items));
      TRY(One("contains", node_.contains));
      std::optional<std::uint64_t> min_contains;
      TRY(Count("minContains", min_contains));
      node_.min_contains = min_contains.value_or(1);
      TRY(Count("maxContains", node_.max_contains));
      TRY(Count("minItems", node_.min_items));
      TRY(Count("maxItems", node_.max_items));
      if (const Value* unique = Get("uniqueItems")) {
        const auto* flag = unique->If<bool>();
        if (flag == nullptr) return Wrong("uniqueItems", "must be true or false");
        node_.unique_items = *flag;
      }
      return One("unevaluatedItems", node_.unevaluated_items);
    }

    Result<void> Objects() {
      TRY(Named("properties", [&](const std::string& name, const SchemaNode* node) {
        node_.properties.emplace(name, node);
        return Result<void>();
      }));
      TRY(Named("patternProperties",
                [&](const std::string& text, const SchemaNode* node) -> Result<void> {
                  TRY_ASSIGN(auto pattern, Pattern("patternProperties", text));
                  node_.pattern_properties.emplace_back(std::move(pattern), node);
                  return {};
                }));
      TRY(Named("dependentSchemas", [&](const std::string& name, const SchemaNode* node) {
        node_.dependent_schemas.emplace_back(name, node);
        return Result<void>();
      }));
      TRY(One("additionalProperties", node_.additional_properties));
      TRY(One("propertyNames", node_.property_names));
      TRY(One("unevaluatedProperties", node_.unevaluated_properties));
      TRY(Count("minProperties", node_.min_properties));
      TRY(Count("maxProperties", node_.max_properties));
      if (const Value* required = Get("required")) {
        TRY_ASSIGN(node_.required, Names(*required, "required"));
      }
      return DependentRequired();
    }

    Result<void> DependentRequired() {
      const Value* value = Get("dependentRequired");
      if (value == nullptr) return {};
      const auto* dict = value->If<Dict>();
      if (dict == nullptr) return Wrong("dependentRequired", "must be an object of lists of names");
      for (const auto& [key, names] : dict->items) {
        const auto* name = key.If<std::string>();
        if (name == nullptr) return Wrong("dependentRequired", "has a key that is not a string");
        TRY_ASSIGN(auto needed, Names(names, "dependentRequired"));
        node_.dependent_required.emplace_back(*name, std::move(needed));
      }
      return {};
    }

    Result<void> Combinations() {
      TRY(Many("allOf", node_.all_of));
      TRY(Many("anyOf", node_.any_of));
      TRY(Many("oneOf", node_.one_of));
      TRY(One("not", node_.negated));
      TRY(One("if", node_.condition));
      TRY(One("then", node_.when_true));
      return One("else", node_.when_false);
    }

    SchemaCompiler& compiler_;
    const Value& schema_;
    const std::string& place_;
    const int depth_;
    SchemaNode& node_;
  };

  std::shared_ptr<Schema::Compiled> compiled_;
  std::unordered_map<const Value*, SchemaNode*> by_place_;
  std::vector<Reference> references_;
};

Result<Schema> Schema::Compile(Value document) {
  return SchemaCompiler(std::move(document)).Compile();
}

const Value& Schema::document() const {
  return compiled_->document;
}

std::vector<SchemaProblem> Schema::Check(const Value& value) const {
  return CheckAgainst(*compiled_->root, value).problems;
}

std::optional<bool> Schema::Fits(const Value& value) const {
  const SchemaReport report = CheckAgainst(*compiled_->root, value);
  if (report.exhausted) return std::nullopt;
  return report.problems.empty();
}

const Value* Schema::Resolve(std::string_view reference) const {
  return Lookup(compiled_->document, compiled_->anchors, reference);
}

}  // namespace caisson
