// What a person is shown of a call before they decide: exactly what was hashed, and nothing they cannot see (I5).
//
// The text is the canonical one, with characters that show as nothing or in another place spelled out as JSON does
// (\u202e): still JSON, still the same value, now visible. A long value is shown with its
// beginning, its end, its length and its digest; the whole text is always there too.
//
// Trust     Arguments are the guest's, written to deceive.
// Threads   Pure functions.
// Lifetime  Nothing is kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/approvals.h"

namespace caisson {

// One argument; all text is JSON with nothing hidden in it, so there is no line break in any of it.
struct ShownArgument {
  std::string name;
  std::string value;                    // The beginning of it, if there is a digest.
  std::string end{};                    // Then this is how it ends, after
  std::uint64_t left_out_bytes = 0;     // so many that are not shown.
  std::uint64_t bytes = 0;              // Of the whole canonical value,
  std::optional<std::string> sha256{};  // and its digest.
};

struct Presentation {
  std::vector<ShownArgument> arguments;
  std::string whole;  // All of them as one JSON object; nothing is left out.
};

inline constexpr std::size_t kShownBytes = 2000;  // Of one value.

// kInvalidArgument: the stored text is not the one that was hashed. Nobody may be asked about it.
Result<Presentation> Present(const NewApproval& asked, std::size_t shown_bytes = kShownBytes);

// A line for each argument, three for a long one. No argument can look like two.
std::string ToText(const Presentation& presentation);

// The approval as every door shows it, with all of its arguments:
//   {"id","run_id","seq","tool","arguments","arguments_sha256","state","created_at","expires_at","session","decision"}
// Where Present has an error, "arguments" is null and there is a "problem".
std::string ToJson(const StoredApproval& approval);
// A grant likewise: {"id","tool","scope","pattern","granted_by","granted_at"}
std::string ToJson(const Grant& grant);

}  // namespace caisson
