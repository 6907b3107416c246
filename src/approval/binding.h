// What an approval is bound to: digests of the tool, the arguments and the code, such that two calls that differ in
// anything a tool could notice differ in one of them (I5).
//
// Trust     Arguments are the guest's, definitions may be an upstream's; both are refused rather than approximated.
// Threads   Pure functions.
// Lifetime  Nothing is kept.
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

// Of all that says what a tool is and does: a changed description, schema, rule or program is another tool. How often
// and how long it may run is not part of it.
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
