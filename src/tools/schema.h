// A Schema is a compiled JSON Schema (2020-12) that says what is wrong with a value and where.
//
//   auto schema = *Schema::Compile(
//       *ParseJson(R"({"type": "object", "properties": {"n": {"type": "integer"}}})"));
//   schema.Check(*ParseJson(R"({"n": "x"})"));   // one problem: "/n", "expected integer, ..."
//
// Supports the core, applicator, unevaluated and validation vocabularies, with references inside
// the document ($ref, $anchor, $defs; $dynamicRef, which in one document is the same). `format` and
// unknown keywords are annotations. Python values are treated as in JSON: a tuple is an array, 1.0
// an integer; bytes and dicts with keys other than str have no type.
//
// Trust     Schemas (an upstream's) and values (a cell's) are hostile. Nodes, depth and work are
//           bounded, and patterns run in linear time (RE2; unsupported syntax such as lookahead is
//           refused).
// Threads   Immutable once compiled; Check may be called from any thread.
// Lifetime  Copies share the compiled schema.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "wire/value.h"

namespace caisson {

struct SchemaProblem {
  std::string path;  // A JSON pointer into the value; empty for the value itself.
  std::string message;

  std::string Text() const { return path.empty() ? message : path + ": " + message; }
};

class Schema {
 public:
  // Refuses what the specification does not allow, and names the place in the schema.
  static Result<Schema> Compile(Value document);

  // The original schema.
  const Value& document() const;

  // Returns the first few problems of `value`, or none. If checking takes too much work, that is a
  // problem too.
  std::vector<SchemaProblem> Check(const Value& value) const;

  // Returns true if the value has no problems; nullopt if checking takes too much work.
  std::optional<bool> Fits(const Value& value) const;

  // Resolves a reference inside the document ("#/$defs/x", "#anchor"); null if there is no such
  // place.
  const Value* Resolve(std::string_view reference) const;

 private:
  struct Compiled;
  friend class SchemaCompiler;
  explicit Schema(std::shared_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}

  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace caisson
