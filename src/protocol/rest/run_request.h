// Parses the bodies of POST /v1/runs and POST /v1/approvals/{id}.
//
//   {"code": "6*7", "session": "notebook", "limits": {"wall_seconds": 5}, "wait": false}
//   {"decision": "approve", "reason": "as agreed",
//    "standing": {"scope": "always", "arguments": "any"}}
//   {"decision": "approve", "arguments": {"amount": 50}}          changes that argument of the call
//
// Trust     The bodies are hostile: types are checked, unknown names are refused, nothing is
//           guessed.
// Threads   Pure functions.
// Lifetime  Keeps nothing.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "engine/limits.h"
#include "runs/run_service.h"

namespace caisson::rest {

enum class Wait { kUntilItStops, kNotAtAll };

struct RunBody {
  RunSpec start;
  Wait wait = Wait::kUntilItStops;
};

// Limits that are not named are `usual`. Fails with kInvalidArgument, with the name and what is
// wrong.
Result<RunBody> ParseRunBody(std::string_view body, const Limits& usual);

// The result does not say who decides; the caller adds that.
Result<Answer> ParseAnswer(std::string_view body);

}  // namespace caisson::rest
