// The data to which an approval is bound: digests of the tool, the arguments and the code. Two
// calls that differ in anything that a tool could notice differ in one of the digests (I5).
//
// Trust     Arguments are the guest's; definitions may be an upstream's. Input without an exact
//           digest is refused, never approximated.
// Threads   Pure functions.
// Lifetime  Keeps nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "store/approvals.h"
#include "store/ids.h"
#include "tools/arguments.h"
#include "tools/tool.h"
#include "wire/value.h"

namespace caisson {

// Covers everything that defines a tool: a changed description, schema, rule or program gives
// another digest. The limits on its number of calls and its time are not included.
Result<std::string> ToolDigest(const Tool& tool);

std::string CodeDigest(std::string_view code);

struct CallPlace {
  RunId run;
  std::uint32_t seq = 0;
  std::string code_digest{};
};

Result<CallBinding> BindCall(CallPlace place, const Tool& tool,
                             const CanonicalArguments& arguments);

}  // namespace caisson
