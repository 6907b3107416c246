// The fixed addresses of the one instance and the one stack, in every process of this build.
//
//   [instance][guard][stack, grows down][guard]
//
// Trust     Guest code runs on the stack but cannot form an address in it.
// Threads   Constants.
// Lifetime  Constants.
#pragma once

#include <cstdint>

namespace caisson::worker {

// Far from all addresses that the kernel chooses by itself.
inline constexpr std::uint64_t kWindow = 0x1f00'0000'0000;
inline constexpr std::uint64_t kInstanceBytes = 4096;
inline constexpr std::uint64_t kGuardBytes = 1 << 20;
inline constexpr std::uint64_t kStackBytes = 16 << 20;
inline constexpr std::uint64_t kStackBottom = kWindow + kInstanceBytes + kGuardBytes;
inline constexpr std::uint64_t kStackTop = kStackBottom + kStackBytes;

// The part of the guest's stack that a host function called by the guest may use. If less is left,
// the guest is ended before that function starts. Otherwise code that recursed down to the guard
// could make host code fault, which ends the worker and with it other cells.
inline constexpr std::uint64_t kHostStackBytes = 512 << 10;

}  // namespace caisson::worker
