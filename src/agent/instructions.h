// What a model is told about execute_code: how to write code for it and what that code may use.
//
// Trust     Names and descriptions of tools may be an upstream's, and go to the model as such. Nothing of the host is
//           told: no path, no variable's value, no address.
// Threads   Pure.
// Lifetime  Pure.
#pragma once

#include <string>

#include "runs/cells/code_runner.h"

namespace caisson {

// Whether the model sees the tools that code can call as tools of their own, too.
enum class ToolsVisible { kNo, kYes };

// For a system prompt: what the tool is for and when to use it.
std::string Instructions(const CodeSetting& setting, ToolsVisible visible);

// For the tool itself: all the code may use, with the signatures of the tools.
std::string Description(const CodeSetting& setting);

}  // namespace caisson
