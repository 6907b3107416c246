// Arguments in the one form in which they are journaled, shown, hashed and kept while their call waits.
//
// Trust     Arguments are the guest's: those without a canonical text are refused rather than approximated.
// Threads   Pure functions. A megabyte takes tens of milliseconds: not on a lane.
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

// Fails with kInvalidArgument if some have no canonical text: nobody could be shown them. Fails with kResourceExhausted if
// the text is too long.
Result<CanonicalArguments> Canonicalize(const Dict& arguments);

// The way back. Fails with kInvalidArgument if the text is not the one of this digest.
Result<Dict> ParseArguments(std::string_view text, std::string_view digest);

// The SHA-256 of `bytes`, in hexadecimal. A digest of one kind of thing is never taken for one of another.
std::string DigestOf(std::string_view kind, std::string_view bytes);

}  // namespace caisson
