// What a worker says on its log when it ends for a reason of its own, with calls that its filter allows.
//
// Trust     The log goes to the operator. It names kinds of addresses, and the instruction, which is the same
//           in every process of a build; no other address and no byte of memory.
// Threads   The worker's one thread, also in a signal handler: no memory is allocated.
// Lifetime  Functions only.
#pragma once

#include <signal.h>

#include <cstdint>
#include <string_view>

namespace caisson::worker {

// What kind of address a fault is about; `cell_memory`: it lies in the reservation of the cell that runs.
std::string_view AddressKind(const siginfo_t& info, bool cell_memory);

// "caisson-worker: SIGSEGV in host code, instruction 0x60123456: a null pointer"
void SayFault(int signal, const siginfo_t& info, std::uint64_t instruction, bool in_guest,
              bool cell_memory);

}  // namespace caisson::worker
