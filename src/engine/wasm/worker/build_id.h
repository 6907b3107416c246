// The identity of this very program, as the linker stamped it: return addresses in a saved stack mean
// something only to the build that made them.
//
// Trust     Read from our own image.
// Threads   Any.
// Lifetime  Static.
#pragma once

#include <cstdint>
#include <span>

namespace caisson::worker {

inline constexpr std::size_t kBuildIdBytes = 20;

// Aborts if the program was linked without one.
std::span<const std::uint8_t, kBuildIdBytes> BuildId();

}  // namespace caisson::worker
