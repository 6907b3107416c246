// EditedArguments are what a person wrote in place of the arguments that were asked about. The call
// is executed with them. The journal keeps both: a replay compares the call with what was asked.
//
// Trust     A person's text, checked against the schema of the tool before it is stored.
// Threads   A value.
// Lifetime  A value.
#pragma once

#include <string>

namespace caisson {

struct EditedArguments {
  std::string text;  // Canonical JSON of all arguments. Empty in lists if it is long.
  std::string digest;
  bool operator==(const EditedArguments&) const = default;
};

}  // namespace caisson
