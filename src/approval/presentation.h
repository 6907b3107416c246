// Shows a call to a person before the decision: exactly what was hashed, with nothing hidden (I5).
//
// The text is the canonical one. Characters that are invisible or appear in another place are
// escaped as in JSON (\u202e), so it is still JSON of the same value. A long value is shown with
// its beginning, its end, its length and its digest; the whole text is always included too.
//
// Trust     Arguments are the guest's and may be written to deceive.
// Threads   Pure functions.
// Lifetime  Keeps nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/approvals.h"

namespace caisson {

// One argument. All text is visible JSON without line breaks.
struct ShownArgument {
  std::string name;
  std::string value;                    // If there is a digest, only the beginning.
  std::string end{};                    // Then this is the end, after
  std::uint64_t left_out_bytes = 0;     // this many bytes that are not shown.
  std::uint64_t bytes = 0;              // Size of the whole canonical value,
  std::optional<std::string> sha256{};  // and its digest.
};

struct Presentation {
  std::vector<ShownArgument> arguments;
  std::string whole;  // All arguments as one JSON object; nothing is left out.
};

inline constexpr std::size_t kShownBytes = 2000;  // For one value.

// Fails with kInvalidArgument if the stored text is not the one that was hashed. Then the approval
// must not be shown.
Result<Presentation> Present(const NewApproval& asked, std::size_t shown_bytes = kShownBytes);

// Returns one line per argument, three for a long one. No argument can look like two.
std::string ToText(const Presentation& presentation);

// Returns the approval as every door shows it, with all of its arguments:
//   {"id","run_id","seq","tool","arguments","arguments_sha256","state","created_at","expires_at",
//    "session","decision"}
// If the decision changed the arguments, also "edited_arguments" and "edited_arguments_sha256".
// If Present fails, "arguments" is null and there is a "problem". If a list omitted the arguments,
// they are null, with "arguments_omitted": true.
std::string ToJson(const StoredApproval& approval);
// Returns a grant in the same way: {"id","tool","scope","pattern","granted_by","granted_at"}
std::string ToJson(const Grant& grant);

}  // namespace caisson
