// Applies a person's changes to the arguments of a call, before the decision is stored.
//
//   asked {"amount": 500, "to": "bob"}, changes {"amount": 50}: {"amount": 50, "to": "bob"}
//
// A change names an argument of the call and gives it a value of the same JSON type. Arguments that
// are not named stay as they were asked. The result is what the tool accepts, and it is what is
// hashed, recorded and executed (I5).
//
// Trust     Changes come from clients. The asked arguments are the guest's.
// Threads   Pure functions. As Canonicalize, not for a lane.
// Lifetime  Keeps nothing.
#pragma once

#include <optional>

#include "base/result.h"
#include "store/approvals.h"
#include "tools/tool.h"
#include "wire/value.h"

namespace caisson {

// Returns nullopt if the changes change nothing. Fails with kInvalidArgument if a name is not an
// argument of the call, a value has another type, or the tool does not accept the result;
// kFailedPrecondition if `tool` is not the tool that was asked about, or the text to change is not
// the text that was hashed.
Result<std::optional<EditedArguments>> EditArguments(const NewApproval& asked, const Dict& changes,
                                                     const Tool& tool);

}  // namespace caisson
