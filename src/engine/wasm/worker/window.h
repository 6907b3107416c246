// Where the one instance and the one stack lie, in every process of this build.
//
//   [instance][guard][stack, grows down][guard]
//
// Trust     Guest code runs on the stack but cannot name an address in it.
// Threads   Constants.
// Lifetime  Constants.
#pragma once

#include <cstdint>

namespace caisson::worker {

// Far from where the kernel puts anything by itself.
inline constexpr std::uint64_t kWindow = 0x1f00'0000'0000;
inline constexpr std::uint64_t kInstanceBytes = 4096;
inline constexpr std::uint64_t kGuardBytes = 1 << 20;
inline constexpr std::uint64_t kStackBytes = 16 << 20;
inline constexpr std::uint64_t kStackBottom = kWindow + kInstanceBytes + kGuardBytes;
inline constexpr std::uint64_t kStackTop = kStackBottom + kStackBytes;

// What a function of the host that the guest calls may use of the guest's stack. If less is left the
// guest is ended before any of that function runs; otherwise code that recursed down to the guard
// could make host code fault, which ends the worker and with it other cells.
inline constexpr std::uint64_t kHostStackBytes = 512 << 10;

}  // namespace caisson::worker
