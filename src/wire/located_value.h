// A LocatedValue is a Value that was written in a file, and the line of each of its parts: for
// messages such as "report.json:7: ...".
//
//   auto document = *ParseLocatedJson(text);
//   document.LineOf("/edges/0/from");        // 7
//
// Trust     The text may be hostile: see wire/json.h. The number of parts is bounded.
// Threads   Values and pure functions.
// Lifetime  Values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "wire/value.h"

namespace caisson {

inline constexpr std::size_t kMaxLocatedBytes = std::size_t{1} << 20;
inline constexpr std::size_t kMaxLocatedParts = 100'000;

struct LocatedValue {
  Value value;
  std::map<std::string, std::uint32_t, std::less<>> lines{};  // By JSON Pointer (RFC 6901).

  // Returns the line of the part, or of the nearest part around it; 1 if there is none.
  std::uint32_t LineOf(std::string_view pointer) const;
};

// Returns "/a~1b" for "a/b": one more step of a JSON Pointer.
std::string PointerStep(std::string_view key);

// Fails like ParseJson, and with kResourceExhausted above the bounds.
Result<LocatedValue> ParseLocatedJson(std::string_view text);

}  // namespace caisson
