// A Signature is how a tool looks from Python: what a model is shown and what the guest makes its function of.
//
//   def send(to: str, subject: str = ..., tags: list[str] | None = None) -> dict:
//       """Sends a mail.
//
//       to: whom
//       """
//
// Parameters are the properties of the tool's input schema in their order. `= ...` means that it may be left
// out and the tool decides. Parameters from the first required one on that follows an optional one can only
// be given by name, as Python's grammar asks; properties that are no identifiers only as **{"like-this": 1}.
//
// Trust     Names, descriptions and schemas may be an upstream's: what is written is bounded, one line where a
//           line is meant, and cannot close its own quotes.
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
  kDefault = 1,   // May be left out and is then `default_value`.
  kOptional = 2,  // May be left out; the tool decides what that means.
};

struct Parameter {
  std::string name;
  std::string annotation = "Any";
  Presence presence = Presence::kRequired;
  Value default_value{};
  std::vector<std::string> json_types{};  // What its schema calls them; empty: any.
  std::string description{};
  bool keyword_only = false;
};

struct Signature {
  std::string name;
  std::string description{};
  std::vector<Parameter> parameters{};  // In the order of the schema, whatever their names are.
  bool takes_more = false;              // Arguments by other names too: **more.
  std::string returns = "Any";

  // "send(to: str, subject: str = ...)", or how to call it where the name is no function's.
  std::string Call() const;
  // The whole definition with its docstring, as in the example above.
  std::string Text() const;
  // For the guest: dict with "name", "doc", "returns", "more" (bool) and "parameters", a list of tuples
  // (name, annotation, presence, default or None, list of JSON types, keyword only).
  Value Encode() const;
};

Signature MakeSignature(std::string name, std::string description, const Schema& input,
                        const Schema* output);

// The value as a Python literal, or "..." if it is long or has none.
std::string PythonLiteral(const Value& value);

}  // namespace caisson
