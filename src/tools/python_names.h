// Which names can be a function or a parameter in Python code.
#pragma once

#include <string_view>

namespace caisson {

// An ASCII identifier that is no keyword.
bool IsPythonIdentifier(std::string_view name);

// Fit for a tool's function: an identifier that hides no builtin, neither Python's nor ours. A tool
// called `open` or `list` would break code that means the builtin; call_tool reaches it.
bool IsPythonFunctionName(std::string_view name);

}  // namespace caisson
