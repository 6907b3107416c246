// CheckBase reads the whole file caisson.base and checks that it is as it was built.
//
// Trust     The file is as trusted as the worker. The check finds damage and mix-ups, not an
//           attacker who can write the file: the expected hash is in its own header.
// Threads   Any; reads the whole file (tens of megabytes). Do not call it on the path of a run.
// Lifetime  A value.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace caisson {

struct BaseCheck {
  std::uint64_t bytes = 0;                // Size of the file.
  std::array<std::uint8_t, 32> sha256{};  // Hash of its contents; workers report the same.
};

// Returns the hash in the header without checking it. It identifies the base.
Result<std::array<std::uint8_t, 32>> ReadBaseHash(const std::string& path);

// Fails with a description of the damage.
Result<BaseCheck> CheckBase(const std::string& path);

}  // namespace caisson
