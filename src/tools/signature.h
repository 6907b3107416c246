// A Signature is the Python form of a tool: models see it, and the guest makes its function from
// it.
//
//   def send(to: str, subject: str = ..., tags: list[str] | None = None) -> dict:
//       """Sends a mail.
//
//       to: whom
//       """
//
// Parameters are the properties of the tool's input schema: first the required ones, then the
// others, each in the order of the schema. `= ...` means that it may be left out and the tool
// decides. Properties that are not identifiers can only be given as **{"like-this": 1}.
//
// Trust     Names, descriptions and schemas may be an upstream's. The text is bounded, stays on one
//           line where one is expected, and cannot close its own quotes.
// Threads   A value.
// Lifetime  A value.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/schema.h"
#include "wire/value.h"

namespace caisson {

enum class Presence {
  kRequired = 0,
  kDefault = 1,   // May be left out; the default is `default_value`.
  kOptional = 2,  // May be left out; the tool decides what that means.
};

struct Parameter {
  std::string name;
  std::string annotation = "Any";
  Presence presence = Presence::kRequired;
  Value default_value{};
  std::vector<std::string> json_types{};  // The names of its schema; empty: any.
  std::string description{};
};

struct Signature {
  std::string name;
  std::string description{};
  std::vector<Parameter> parameters{};  // In this order, with any names.
  bool takes_more = false;              // Also takes other names: **more.
  std::string returns = "Any";

  // Returns "send(to: str, subject: str = ...)", or a call_tool form if the name cannot be a
  // function's.
  std::string Call() const;
  // Returns the whole definition with its docstring, as in the example above.
  std::string Text() const;
  // Returns the form for the guest: a dict with "name", "doc", "returns", "more" (bool) and
  // "parameters", a list of tuples (name, annotation, presence, default or None, list of JSON
  // types, keyword only).
  Value Encode() const;
};

Signature MakeSignature(std::string name, std::string description, const Schema& input,
                        const Schema* output);

// Returns the value as a Python literal, or "..." if it is long or has none.
std::string PythonLiteral(const Value& value);

}  // namespace caisson
