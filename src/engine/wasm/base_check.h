// CheckBase reads caisson.base from end to end and tells whether it is what was built.
//
// Trust     The file is as trusted as the worker; this finds damage and mix-ups, not an attacker who can
//           write there: the hash it is compared with stands in its own header.
// Threads   Any; reads the whole file (tens of megabytes). Not on the path of a run.
// Lifetime  A value.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace caisson {

struct BaseCheck {
  std::uint64_t bytes = 0;                // Of the file.
  std::array<std::uint8_t, 32> sha256{};  // Of its contents; workers report the same.
};

// The hash that stands in its header, unchecked: which base it is.
Result<std::array<std::uint8_t, 32>> ReadBaseHash(const std::string& path);

// An error says how it is damaged.
Result<BaseCheck> CheckBase(const std::string& path);

}  // namespace caisson
