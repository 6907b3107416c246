// The Stem is the common baseline of a nursery's cells: the mappings that all of them have when
// they are forked, and a scratch area in each where a cell can work on its own memory without
// changing it.
//
// A saved cell is described by its differences from the stem. A cell that becomes its copy starts
// from the stem (ADR 37).
//
// Trust     Addresses are not secret from code in a cell, which can read and write all of this.
// Threads   One.
// Lifetime  Taken by the nursery before it forks; every cell has its copy at the same addresses.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/result.h"
#include "base/unique_fd.h"
#include "wire/nursery.h"
#include "wire/ring.h"
#include "wire/survey.h"

namespace caisson::nursery {

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
  alignas(64) std::array<char, wire::kMaxSurveyBytes> survey;
  alignas(64) std::array<char, 4 << 20> plan;  // Steps of an image.
  // Open files are mapped here briefly, one page each, so that the host sees their names.
  std::array<int, 256> probed;  // Descriptors; as many as `probes`.
  std::size_t probes;
  alignas(kPageBytes) std::array<char, 256 * kPageBytes> probe_pages;
};

class Stem {
 public:
  // `maps`: of /proc/self. Does not use the heap, which must stay as cells need it.
  static Result<Stem> Take(const UniqueFd& maps);

  // Ordered by address; without paths.
  std::span<const wire::SurveyedMapping> mappings() const { return mappings_; }
  Scratch& scratch() const { return *scratch_; }
  // For a mapping that every cell has: returns its original contents, if they can be read
  // elsewhere.
  const char* Pristine(const wire::SurveyedMapping& mapping) const;
  // Frees the contents of the scratch and the mappings over it.
  void Sweep() const;

 private:
  Stem() = default;

  Result<void> List(const UniqueFd& maps, std::span<wire::SurveyedMapping> room);

  std::span<const wire::SurveyedMapping> mappings_;  // Never unmapped.
  Scratch* scratch_ = nullptr;                       // Never unmapped.
  std::optional<wire::SurveyedMapping> pristine_;    // The second mapping of page_tables.h.
};

}  // namespace caisson::nursery
