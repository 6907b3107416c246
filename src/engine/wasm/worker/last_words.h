// Writes to the worker's log why the worker ends by itself, using only calls that its filter
// allows.
//
// Trust     The log goes to the operator. It names kinds of addresses, and the instruction address,
//           which is the same in every process of a build. It contains no other address and no byte
//           of memory.
// Threads   The worker's only thread, also in a signal handler: allocates no memory.
// Lifetime  Functions only.
#pragma once

#include <signal.h>

#include <cstdint>
#include <string_view>

namespace caisson::worker {

// Describes the faulting address. `cell_memory`: it lies in the reservation of the running cell.
std::string_view AddressKind(const siginfo_t& info, bool cell_memory);

// Writes a line such as "caisson-worker: SIGSEGV in host code, instruction 0x60123456: a null
// pointer".
void SayFault(int signal, const siginfo_t& info, std::uint64_t instruction, bool in_guest,
              bool cell_memory);

}  // namespace caisson::worker
