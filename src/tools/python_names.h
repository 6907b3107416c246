// Checks which names can be a function or a parameter in Python code.
//
// Trust     Names may come from an upstream.
// Threads   Pure functions.
// Lifetime  Keeps nothing.
#pragma once

#include <string_view>

namespace caisson {

// Returns true for an ASCII identifier that is not a keyword.
bool IsPythonIdentifier(std::string_view name);

// Returns true if a tool's function can have this name: an identifier that hides no builtin of
// Python or Caisson. A tool called `open` or `list` would break code that uses the builtin;
// call_tool can call it.
bool IsPythonFunctionName(std::string_view name);

}  // namespace caisson
