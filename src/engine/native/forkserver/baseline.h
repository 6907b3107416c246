// The Baseline is the common baseline of a fork server's cells: the mappings that all of them have
// when they are forked, and a scratch area in each where a cell can work on its own memory without
// changing it.
//
// A saved cell is described by its differences from the baseline. A cell that becomes its copy
// starts from the baseline (ADR 37).
//
// Trust     Addresses are not secret from code in a cell, which can read and write all of this.
// Threads   One.
// Lifetime  Taken by the fork server before it forks; every cell has its copy at the same
//           addresses.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/result.h"
#include "base/unique_fd.h"
#include "wire/fork_server_messages.h"
#include "wire/process_map.h"
#include "wire/ring.h"

namespace caisson::forkserver {

inline constexpr std::size_t kPageBytes = 4096;

// Returns the memory at an address that the kernel, or an image, has named.
inline char* At(std::uint64_t address) {
  return reinterpret_cast<char*>(address);  // NOLINT(performance-no-int-to-ptr): that is the point.
}
inline std::uint64_t AddressOf(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

// Memory that belongs to no image. It is empty and costs nothing, except while a cell is copied.
struct Scratch {
  bool is_branch;  // Another process than the one that saved it continues in this memory.
  std::uint32_t state_bytes;
  alignas(64) std::array<char, 64 << 10> stack;
  alignas(64) std::array<char, sizeof(wire::StreamFrame) + wire::kMaxFramePayload> frames;
  alignas(64) std::array<char, 256 << 10> state;  // The state of the process, see kernel_state.h.
  alignas(64) std::array<char, wire::kMaxProcessMapBytes> process_map;
  alignas(64) std::array<char, 4 << 20> plan;  // Steps of an image.
  // Open files are mapped here briefly, one page each, so that the host sees their names.
  std::array<int, 256> probed;  // Descriptors; as many as `probes`.
  std::size_t probes;
  alignas(kPageBytes) std::array<char, 256 * kPageBytes> probe_pages;
};

class Baseline {
 public:
  // `maps`: of /proc/self. Does not use the heap, which must stay as cells need it.
  static Result<Baseline> Take(const UniqueFd& maps);

  // Ordered by address; without paths.
  std::span<const wire::ProcessMapEntry> mappings() const { return mappings_; }
  Scratch& scratch() const { return *scratch_; }
  // For a mapping that every cell has: returns its original contents, if they can be read
  // elsewhere.
  const char* Pristine(const wire::ProcessMapEntry& mapping) const;
  // Frees the contents of the scratch and the mappings over it.
  void Sweep() const;

 private:
  Baseline() = default;

  Result<void> List(const UniqueFd& maps, std::span<wire::ProcessMapEntry> room);

  std::span<const wire::ProcessMapEntry> mappings_;  // Never unmapped.
  Scratch* scratch_ = nullptr;                       // Never unmapped.
  std::optional<wire::ProcessMapEntry> pristine_;    // The second mapping of page_tables.h.
};

}  // namespace caisson::forkserver
