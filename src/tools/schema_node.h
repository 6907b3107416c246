// A SchemaNode is one compiled schema or subschema. SchemaCompiler makes it and SchemaChecker walks
// it.
//
// Trust     Compiled from a hostile document, but well-formed: every pointer is set or null, counts
//           fit.
// Threads   Immutable once compiled.
// Lifetime  Nodes live in the Schema's arena and point to each other freely, also in cycles.
#pragma once

#include <re2/re2.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/schema.h"
#include "wire/value.h"

namespace caisson {

// The types of JSON Schema, as bits. A whole number is both an integer and a number.
enum TypeBit : std::uint8_t {
  kNullBit = 1,
  kBooleanBit = 2,
  kIntegerBit = 4,
  kNumberBit = 8,
  kStringBit = 16,
  kArrayBit = 32,
  kObjectBit = 64,
};
using TypeBits = std::uint8_t;

struct TypeName {
  TypeBit bit;
  std::string_view name;
};
inline constexpr TypeName kTypeNames[] = {
    {kStringBit, "string"},   {kIntegerBit, "integer"}, {kNumberBit, "number"},
    {kBooleanBit, "boolean"}, {kArrayBit, "array"},     {kObjectBit, "object"},
    {kNullBit, "null"},
};

struct SchemaNode {
  using Pattern = std::shared_ptr<const re2::RE2>;
  struct Choice {  // enum, const
    std::set<std::string> canonical;
    std::string shown;
  };

  std::optional<bool> fixed;  // `true` or `false` instead of a schema.
  std::optional<TypeBits> types;
  std::optional<Choice> enumeration, constant;

  std::optional<Value> multiple_of, minimum, exclusive_minimum, maximum, exclusive_maximum;

  std::optional<std::uint64_t> min_length, max_length;
  Pattern pattern;
  std::string pattern_text;

  std::vector<const SchemaNode*> prefix_items;
  const SchemaNode* items = nullptr;
  const SchemaNode* contains = nullptr;
  std::uint64_t min_contains = 1;
  std::optional<std::uint64_t> max_contains, min_items, max_items;
  bool unique_items = false;
  const SchemaNode* unevaluated_items = nullptr;

  std::map<std::string, const SchemaNode*, std::less<>> properties;
  std::vector<std::pair<Pattern, const SchemaNode*>> pattern_properties;
  const SchemaNode* additional_properties = nullptr;
  const SchemaNode* property_names = nullptr;
  std::vector<std::string> required;
  std::optional<std::uint64_t> min_properties, max_properties;
  std::vector<std::pair<std::string, std::vector<std::string>>> dependent_required;
  std::vector<std::pair<std::string, const SchemaNode*>> dependent_schemas;
  const SchemaNode* unevaluated_properties = nullptr;

  std::vector<const SchemaNode*> references, all_of, any_of, one_of;
  const SchemaNode* negated = nullptr;
  const SchemaNode* condition = nullptr;
  const SchemaNode* when_true = nullptr;
  const SchemaNode* when_false = nullptr;
};

struct Schema::Compiled {
  Value document;
  std::vector<std::unique_ptr<SchemaNode>> nodes;
  std::map<std::string, const Value*> anchors;
  const SchemaNode* root = nullptr;
};

struct SchemaReport {
  std::vector<SchemaProblem> problems;
  bool exhausted = false;  // Too much work; the problems say so.
};
SchemaReport CheckAgainst(const SchemaNode& root, const Value& value);

}  // namespace caisson
