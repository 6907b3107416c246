// Returns the build id that the linker put into this program. Return addresses in a saved stack are
// valid only in the build that made them.
//
// Trust     Read from our own image.
// Threads   Any.
// Lifetime  Static.
#pragma once

#include <cstdint>
#include <span>

namespace caisson::worker {

inline constexpr std::size_t kBuildIdBytes = 20;

// Aborts if the program was linked without a build id.
std::span<const std::uint8_t, kBuildIdBytes> BuildId();

}  // namespace caisson::worker
