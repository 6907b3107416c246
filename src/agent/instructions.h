// Writes the texts that tell a model how to use execute_code and what its code may use.
//
// Trust     Names and descriptions of tools may come from an upstream and are passed on unchanged.
//           The texts reveal nothing about the host: no path, no value of a variable, no address.
// Threads   Pure.
// Lifetime  Pure.
#pragma once

#include <string>

#include "runs/cells/code_runner.h"

namespace caisson {

// Whether the model can also call the tools directly, without code.
enum class ToolsVisible { kNo, kYes };

// Returns text for a system prompt: the purpose of execute_code and when to use it.
std::string Instructions(const CodeSetting& setting, ToolsVisible visible);

// Returns the description of the tool itself: everything that code may use, with the signatures of
// the tools.
std::string Description(const CodeSetting& setting);

}  // namespace caisson
