// The state that an application shares with its agent. The model reads it in its instructions and
// changes it with a tool of this door, a JSON Patch.
//
// Trust     State and patches are hostile data and bounded.
// Threads   Pure functions.
// Lifetime  Values.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/model.h"
#include "protocol/agui/run_input.h"
#include "wire/value.h"

namespace caisson::agui {

model::ToolDeclaration StateToolDeclaration();

// Applies the arguments of a call of the tool. Returns the patch.
Result<List> PatchState(Value& state, std::string_view arguments);

// What the request tells the model besides the agent's own instructions: instructions of the
// client, its context, and the state.
std::string RequestInstructions(const RunInput& input, const std::string& instructions,
                                const Value& state);

}  // namespace caisson::agui
