// A Schema is a JSON Schema (2020-12), compiled once, that says what is wrong with a value and where.
//
//   auto schema = *Schema::Compile(*ParseJson(R"({"type": "object", "properties": {"n": {"type": "integer"}}})"));
//   schema.Check(*ParseJson(R"({"n": "x"})"));      // one problem: "/n", "expected integer, got string"
//
// All of the core, applicator, unevaluated and validation vocabularies, with references inside the
// document ($ref, $anchor, $defs; $dynamicRef, which in one document is the same). `format` and what is not
// known are annotations. Python's values are taken as JSON would: a tuple is an array, 1.0 an integer, bytes
// and dicts with other keys than str are nothing that has a type.
//
// Trust     Schemas (an upstream's) and values (a cell's) are hostile: nodes, depth and work are bounded, and
//           patterns run in linear time (RE2; what it does not know, such as lookahead, is refused).
// Threads   Immutable once compiled; Check from any thread.
// Lifetime  Copies share what was compiled.
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
  // Refuses what the specification does not allow, naming the place in the schema.
  static Result<Schema> Compile(Value document);

  // The schema as it was given.
  const Value& document() const;

  // What is wrong with `value`: the first few problems, or none. Checking that takes too much work is
  // a problem too.
  std::vector<SchemaProblem> Check(const Value& value) const;

  // Whether it has no problems, or nothing if that takes too much work to tell.
  std::optional<bool> Fits(const Value& value) const;

  // What a reference inside the document ("#/$defs/x", "#anchor") means, or null.
  const Value* Resolve(std::string_view reference) const;

 private:
  struct Compiled;
  friend class SchemaCompiler;
  explicit Schema(std::shared_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}

  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace caisson
