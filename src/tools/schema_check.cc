#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/utf8.h"
#include "tools/json_equality.h"
#include "tools/schema_node.h"

namespace caisson {
namespace {

constexpr std::size_t kMaxProblems = 8;
constexpr std::size_t kMaxAlternativesShown = 3;
constexpr int kMaxDepth = 500;                // Of nested schemas; a value is at most 200 deep.
constexpr std::int64_t kMaxWork = 1'000'000;  // Roughly the number of visits: tens of milliseconds.
constexpr std::size_t kBytesPerStep = 64;
constexpr std::size_t kCanonicalBytesPerStep = 8;  // For writing, sorting and comparing them.

bool HasOnlyNames(const Dict& dict) {
  return std::ranges::all_of(dict.items, [](const auto& item) {
    return item.first.template If<std::string>() != nullptr;
  });
}

TypeBits TypesOf(const Value& value) {
  if (value.is_none()) return kNullBit;
  if (value.If<bool>() != nullptr) return kBooleanBit;
  if (value.If<std::string>() != nullptr) return kStringBit;
  if (value.If<List>() != nullptr || value.If<Tuple>() != nullptr) return kArrayBit;
  if (const auto* dict = value.If<Dict>()) return HasOnlyNames(*dict) ? kObjectBit : TypeBits{0};
  if (IsIntegral(value)) return kIntegerBit | kNumberBit;
  return value.If<double>() != nullptr ? kNumberBit : TypeBits{0};
}

std::string_view NameOf(const Value& value) {
  const TypeBits types = TypesOf(value);
  for (const TypeName& type : kTypeNames) {
    if ((types & type.bit) != 0) return type.name;
  }
  return value.If<Bytes>() != nullptr ? "bytes" : "a dict with keys that are not str";
}

std::string Names(TypeBits types) {
  std::string names;
  for (const TypeName& type : kTypeNames) {
    if ((types & type.bit) != 0) names.append(names.empty() ? "" : " or ").append(type.name);
  }
  return names;
}

const std::vector<Value>* ItemsOf(const Value& value) {
  if (const auto* list = value.If<List>()) return &list->items;
  if (const auto* tuple = value.If<Tuple>()) return &tuple->items;
  return nullptr;
}

// The items and properties of the current value that some schema has evaluated.
struct Evaluated {
  std::vector<bool> children;  // By position, for arrays and objects alike.

  void Mark(std::size_t index) {
    if (children.size() <= index) children.resize(index + 1);
    children[index] = true;
  }
  bool Has(std::size_t index) const { return index < children.size() && children[index]; }
  void Merge(const Evaluated& other) {
    if (children.size() < other.children.size()) children.resize(other.children.size());
    for (std::size_t i = 0; i < other.children.size(); ++i) {
      if (other.children[i]) children[i] = true;
    }
  }
};

class SchemaChecker {
 public:
  SchemaReport Run(const SchemaNode& root, const Value& value) {
    const bool valid = Visit(root, value, nullptr);
    // Inside alternatives, exhaustion can look like another failure or like success.
    if (exhausted_) {
      return {.problems = {{"", "checking it against the schema takes too much work"}},
              .exhausted = true};
    }
    if (valid) return {};
    return {.problems = std::move(problems_)};
  }

 private:
  // The current place in the value; printed only if there is a problem.
  using Step = std::variant<std::string_view, std::size_t>;
  class At {
   public:
    At(SchemaChecker& checker, Step step) : checker_(checker) { checker_.path_.push_back(step); }
    ~At() { checker_.path_.pop_back(); }
    At(const At&) = delete;
    At& operator=(const At&) = delete;

   private:
    SchemaChecker& checker_;
  };

  std::string Path() const {
    std::string path;
    for (const Step& step : path_) {
      path += '/';
      if (const auto* index = std::get_if<std::size_t>(&step)) {
        path += std::to_string(*index);
        continue;
      }
      for (const char c : std::get<std::string_view>(step)) {
        path += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
      }
    }
    return path;
  }

  bool Fail(std::string message) {
    if (problems_.size() < kMaxProblems) problems_.push_back({Path(), std::move(message)});
    return false;
  }

  // Returns false, and makes all further checks fail, if the work exceeds the limit.
  bool Spend(std::size_t steps) {
    work_ += static_cast<std::int64_t>(steps);
    if (work_ > kMaxWork) exhausted_ = true;
    return !exhausted_;
  }

  bool Visit(const SchemaNode& node, const Value& value, Evaluated* outer) {
    if (depth_ >= kMaxDepth) exhausted_ = true;
    if (!Spend(1)) return false;
    ++depth_;
    const bool valid = Check(node, value, outer);
    --depth_;
    return valid;
  }

  bool Check(const SchemaNode& node, const Value& value, Evaluated* outer) {
    if (node.fixed) return *node.fixed || Fail("nothing is allowed here");
    if (const auto* dict = value.If<Dict>(); dict != nullptr && !Spend(dict->items.size() / 16)) {
      return false;
    }
    const TypeBits types = TypesOf(value);
    if (node.types && (types & *node.types) == 0) {
      return Fail("expected " + Names(*node.types) + ", got " + std::string(NameOf(value)));
    }
    Evaluated here;
    const bool collects = outer != nullptr || node.unevaluated_items != nullptr ||
                          node.unevaluated_properties != nullptr;
    Evaluated* const evaluated = collects ? &here : nullptr;
    bool valid = CheckChoices(node, value);
    valid = CheckContent(node, value, types, evaluated) && valid;
    valid = CheckCombinations(node, value, evaluated) && valid;
    valid = valid && CheckUnevaluated(node, value, here);
    if (valid && outer != nullptr) outer->Merge(here);
    return valid;
  }

  bool CheckContent(const SchemaNode& node, const Value& value, TypeBits types,
                    Evaluated* evaluated) {
    if ((types & kNumberBit) != 0) return CheckNumber(node, value);
    if ((types & kStringBit) != 0) return CheckString(node, *value.If<std::string>());
    if ((types & kArrayBit) != 0) return CheckArray(node, *ItemsOf(value), evaluated);
    if ((types & kObjectBit) != 0) return CheckObject(node, value, evaluated);
    return true;
  }

  bool CheckChoices(const SchemaNode& node, const Value& value) {
    if (!node.enumeration && !node.constant) return true;
    const std::string canonical = CanonicalText(value);
    if (!Spend(canonical.size() / kCanonicalBytesPerStep)) return false;
    if (node.enumeration && !node.enumeration->canonical.contains(canonical)) {
      return Fail("must be one of " + node.enumeration->shown);
    }
    if (node.constant && !node.constant->canonical.contains(canonical)) {
      return Fail("must be " + node.constant->shown);
    }
    return true;
  }

  bool CheckNumber(const SchemaNode& node, const Value& value) {
    const auto* big = value.If<BigInt>();  // Dividing it goes byte by byte.
    if (big != nullptr && node.multiple_of && !Spend(big->twos_complement.size())) return false;
    bool valid = true;
    const auto expect = [&](bool holds, std::string_view what, const Value& bound) {
      if (!holds) valid = Fail("must be " + std::string(what) + " " + *ToJson(bound));
    };
    // Written so that NaN, which is unordered, fails.
    if (const auto& bound = node.minimum) {
      expect(CompareNumbers(value, *bound) >= 0, "at least", *bound);
    }
    if (const auto& bound = node.exclusive_minimum) {
      expect(CompareNumbers(value, *bound) > 0, "above", *bound);
    }
    if (const auto& bound = node.maximum) {
      expect(CompareNumbers(value, *bound) <= 0, "at most", *bound);
    }
    if (const auto& bound = node.exclusive_maximum) {
      expect(CompareNumbers(value, *bound) < 0, "below", *bound);
    }
    if (const auto& unit = node.multiple_of) {
      expect(IsMultipleOf(value, *unit), "a multiple of", *unit);
    }
    return valid;
  }

  bool CheckString(const SchemaNode& node, const std::string& text) {
    if (!Spend(text.size() / kBytesPerStep)) return false;
    bool valid = true;
    if (node.min_length || node.max_length) {
      const std::size_t length = CountCharacters(text);
      if (node.min_length && length < *node.min_length) {
        valid = Fail("must have at least " + Plural(*node.min_length, "character"));
      }
      if (node.max_length && length > *node.max_length) {
        valid = Fail("must have at most " + Plural(*node.max_length, "character"));
      }
    }
    if (node.pattern && !re2::RE2::PartialMatch(text, *node.pattern)) {
      valid = Fail("must match the pattern " + node.pattern_text);
    }
    return valid;
  }

  static std::string Plural(std::uint64_t count, std::string_view noun) {
    return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
  }

  bool CheckSize(std::size_t size, const std::optional<std::uint64_t>& least,
                 const std::optional<std::uint64_t>& most, std::string_view noun) {
    if (least && size < *least) return Fail("must have at least " + Plural(*least, noun));
    if (most && size > *most) return Fail("must have at most " + Plural(*most, noun));
    return true;
  }

  bool CheckArray(const SchemaNode& node, const std::vector<Value>& items, Evaluated* evaluated) {
    bool valid = CheckSize(items.size(), node.min_items, node.max_items, "item");
    const std::size_t prefix = std::min(items.size(), node.prefix_items.size());
    const std::size_t covered = node.items != nullptr ? items.size() : prefix;
    for (std::size_t i = 0; i < covered && !exhausted_; ++i) {
      const At at(*this, i);
      valid = Visit(i < prefix ? *node.prefix_items[i] : *node.items, items[i], nullptr) && valid;
      if (evaluated != nullptr) evaluated->Mark(i);
    }
    if (node.contains != nullptr) valid = CheckContains(node, items, evaluated) && valid;
    if (node.unique_items) valid = CheckUnique(items) && valid;
    return valid;
  }

  bool CheckContains(const SchemaNode& node, const std::vector<Value>& items,
                     Evaluated* evaluated) {
    std::uint64_t found = 0;
    for (std::size_t i = 0; i < items.size() && !exhausted_; ++i) {
      if (!Silently(*node.contains, items[i], nullptr)) continue;
      ++found;
      if (evaluated != nullptr) evaluated->Mark(i);
    }
    if (found < node.min_contains) {
      return Fail("must contain at least " + Plural(node.min_contains, "item") +
                  " of the kind the schema asks for");
    }
    if (node.max_contains && found > *node.max_contains) {
      return Fail("must contain at most " + Plural(*node.max_contains, "item") +
                  " of the kind the schema asks for");
    }
    return true;
  }

  bool CheckUnique(const std::vector<Value>& items) {
    std::set<std::string> seen;
    for (std::size_t i = 0; i < items.size(); ++i) {
      std::string canonical = CanonicalText(items[i]);
      if (!Spend(1 + canonical.size() / kCanonicalBytesPerStep)) return false;
      if (seen.insert(std::move(canonical)).second) continue;
      const At at(*this, i);
      return Fail("occurs twice; items must differ");
    }
    return true;
  }

  bool Has(const Dict& dict, std::string_view name) {
    return Spend(1 + dict.items.size() / 16) && dict.Find(name) != nullptr;
  }

  bool CheckObject(const SchemaNode& node, const Value& value, Evaluated* evaluated) {
    const Dict& dict = *value.If<Dict>();
    bool valid = CheckSize(dict.items.size(), node.min_properties, node.max_properties, "property");
    for (const std::string& name : node.required) {
      if (!Has(dict, name)) valid = Fail("\"" + name + "\" is missing");
    }
    for (std::size_t i = 0; i < dict.items.size() && !exhausted_; ++i) {
      valid = CheckProperty(node, dict, i, evaluated) && valid;
    }
    return CheckDependent(node, value, evaluated) && valid;
  }

  bool CheckProperty(const SchemaNode& node, const Dict& dict, std::size_t index,
                     Evaluated* evaluated) {
    const auto& [key, value] = dict.items[index];
    const std::string& name = *key.If<std::string>();
    if (!Spend(1)) return false;
    const At at(*this, std::string_view(name));
    bool valid = true;
    bool known = false;
    if (const auto property = node.properties.find(name); property != node.properties.end()) {
      known = true;
      valid = Visit(*property->second, value, nullptr);
    }
    for (const auto& [pattern, schema] : node.pattern_properties) {
      if (!Spend(1 + name.size() / kBytesPerStep)) return false;
      if (!re2::RE2::PartialMatch(name, *pattern)) continue;
      known = true;
      valid = Visit(*schema, value, nullptr) && valid;
    }
    if (!known && node.additional_properties != nullptr) {
      known = true;
      valid = CheckAdditional(*node.additional_properties, value) && valid;
    }
    if (node.property_names != nullptr) valid = Visit(*node.property_names, key, nullptr) && valid;
    if (known && evaluated != nullptr) evaluated->Mark(index);
    return valid;
  }

  bool CheckAdditional(const SchemaNode& schema, const Value& value) {
    if (schema.fixed == false) return Fail("is not allowed here");
    return Visit(schema, value, nullptr);
  }

  bool CheckDependent(const SchemaNode& node, const Value& value, Evaluated* evaluated) {
    const Dict& dict = *value.If<Dict>();
    bool valid = true;
    for (const auto& [name, needed] : node.dependent_required) {
      if (!Has(dict, name)) continue;
      for (const std::string& other : needed) {
        if (Has(dict, other)) continue;
        valid = Fail("\"" + other + "\" is missing; it is needed with \"" + name + "\"");
      }
    }
    for (const auto& [name, schema] : node.dependent_schemas) {
      if (Has(dict, name)) valid = Visit(*schema, value, evaluated) && valid;
    }
    return valid;
  }

  bool CheckCombinations(const SchemaNode& node, const Value& value, Evaluated* evaluated) {
    bool valid = true;
    for (const SchemaNode* schema : node.references) {
      valid = Visit(*schema, value, evaluated) && valid;
    }
    for (const SchemaNode* schema : node.all_of) valid = Visit(*schema, value, evaluated) && valid;
    if (!node.any_of.empty()) valid = CheckAnyOf(node, value, evaluated) && valid;
    if (!node.one_of.empty()) valid = CheckOneOf(node, value, evaluated) && valid;
    if (node.negated != nullptr && Silently(*node.negated, value, nullptr)) {
      valid = Fail("is what the schema excludes with \"not\"");
    }
    if (node.condition != nullptr) {
      const SchemaNode* next =
          Silently(*node.condition, value, evaluated) ? node.when_true : node.when_false;
      if (next != nullptr) valid = Visit(*next, value, evaluated) && valid;
    }
    return valid;
  }

  bool CheckAnyOf(const SchemaNode& node, const Value& value, Evaluated* evaluated) {
    std::vector<SchemaProblem> problems;
    bool any = false;
    for (const SchemaNode* schema : node.any_of) {
      any = Attempt(*schema, value, evaluated, problems) || any;
      if (any && evaluated == nullptr) return true;  // The rest could only add to `evaluated`.
    }
    return any || FailAlternatives(problems);
  }

  bool CheckOneOf(const SchemaNode& node, const Value& value, Evaluated* evaluated) {
    std::vector<SchemaProblem> problems;
    std::size_t valid = 0;
    for (const SchemaNode* schema : node.one_of) {
      if (Attempt(*schema, value, evaluated, problems)) ++valid;
    }
    if (valid == 1) return true;
    if (valid == 0) return FailAlternatives(problems);
    return Fail("fits " + std::to_string(valid) + " alternatives of \"oneOf\"; it must fit one");
  }

  // Visits without reporting; adds the first of its problems to `problems`.
  bool Attempt(const SchemaNode& node, const Value& value, Evaluated* evaluated,
               std::vector<SchemaProblem>& problems) {
    std::vector<SchemaProblem> outside = std::exchange(problems_, {});
    const bool valid = Visit(node, value, evaluated);
    if (!valid && !problems_.empty()) problems.push_back(std::move(problems_.front()));
    problems_ = std::move(outside);
    return valid;
  }

  bool Silently(const SchemaNode& node, const Value& value, Evaluated* evaluated) {
    std::vector<SchemaProblem> ignored;
    return Attempt(node, value, evaluated, ignored);
  }

  bool FailAlternatives(const std::vector<SchemaProblem>& problems) {
    std::string reasons;
    std::set<std::string> seen;
    const std::string here = Path();
    for (const SchemaProblem& problem : problems) {
      std::string text = problem.path == here ? problem.message : problem.Text();
      if (seen.size() >= kMaxAlternativesShown || !seen.insert(text).second) continue;
      reasons.append(reasons.empty() ? "" : ", or ").append(text);
    }
    return Fail("fits no alternative: " + reasons);
  }

  bool CheckUnevaluated(const SchemaNode& node, const Value& value, Evaluated& here) {
    bool valid = true;
    if (const auto* items = ItemsOf(value); items != nullptr && node.unevaluated_items != nullptr) {
      for (std::size_t i = 0; i < items->size() && !exhausted_; ++i) {
        if (here.Has(i)) continue;
        const At at(*this, i);
        valid = CheckAdditional(*node.unevaluated_items, (*items)[i]) && valid;
        here.Mark(i);
      }
    }
    const auto* dict = value.If<Dict>();
    if (dict == nullptr || node.unevaluated_properties == nullptr || !HasOnlyNames(*dict)) {
      return valid;
    }
    for (std::size_t i = 0; i < dict->items.size() && !exhausted_; ++i) {
      if (here.Has(i)) continue;
      const At at(*this, std::string_view(*dict->items[i].first.If<std::string>()));
      valid = CheckAdditional(*node.unevaluated_properties, dict->items[i].second) && valid;
      here.Mark(i);
    }
    return valid;
  }

  std::vector<Step> path_;
  std::vector<SchemaProblem> problems_;
  std::int64_t work_ = 0;
  int depth_ = 0;
  bool exhausted_ = false;
};

}  // namespace

SchemaReport CheckAgainst(const SchemaNode& root, const Value& value) {
  return SchemaChecker().Run(root, value);
}

}  // namespace caisson
