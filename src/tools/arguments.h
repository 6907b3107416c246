// Arguments in the single form in which they are journaled, shown, hashed and kept while their call
// waits.
//
// Trust     Arguments are the guest's. Those without a canonical text are refused, never
//           approximated.
// Threads   Pure functions. A megabyte takes tens of milliseconds, so do not call them on a lane.
// Lifetime  Values.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "wire/value.h"

namespace caisson {

struct CanonicalArguments {
  std::string text{};  // CanonicalJson of the dict.
  std::string digest{};
};

// Fails with kInvalidArgument if an argument has no canonical text and so cannot be shown,
// kResourceExhausted if the text is too long.
Result<CanonicalArguments> Canonicalize(const Dict& arguments);

// The reverse. Fails with kInvalidArgument if the text does not match the digest.
Result<Dict> ParseArguments(std::string_view text, std::string_view digest);

// Returns the SHA-256 of `bytes`, in hexadecimal. Digests of different kinds of data never match.
std::string DigestOf(std::string_view kind, std::string_view bytes);

}  // namespace caisson
