// The Stem of a nursery's cells: what is mapped in all of them when they are forked, and a place in each where it can
// work on its own memory without changing it.
//
// A cell that is saved says how it differs from the stem; one that takes its place begins from there (ADR 37).
//
// Trust     Addresses are no secret from code in a cell, which can read and write all of this.
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

// What lies at an address that the kernel, or an image, has named.
inline char* At(std::uint64_t address) {
  return reinterpret_cast<char*>(address);  // NOLINT(performance-no-int-to-ptr): that is the point.
}
inline std::uint64_t AddressOf(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

// Memory that belongs to no image. Nothing is in it, nor costs anything, except while a cell is copied.
struct Scratch {
  bool is_branch;  // The process that goes on in this memory is another than saved it.
  std::uint32_t state_bytes;
  alignas(64) std::array<char, 64 << 10> stack;
  alignas(64) std::array<char, sizeof(wire::StreamFrame) + wire::kMaxFramePayload> frames;
  alignas(64) std::array<char, 256 << 10> state;  // Of the process, as kernel_state.h has it.
  alignas(64) std::array<char, wire::kMaxSurveyBytes> survey;
  alignas(64) std::array<char, 4 << 20> plan;  // Steps of an image.
  // Open files are mapped here for a moment, each a page: so the host sees what they are called.
  std::array<int, 256> probed;  // Descriptors; as many as `probes`.
  std::size_t probes;
  alignas(kPageBytes) std::array<char, 256 * kPageBytes> probe_pages;
};

class Stem {
 public:
  // `maps`: of /proc/self. Takes nothing from the heap, which is as cells are to have it.
  static Result<Stem> Take(const UniqueFd& maps);

  // In the order of addresses; without paths.
  std::span<const wire::SurveyedMapping> mappings() const { return mappings_; }
  Scratch& scratch() const { return *scratch_; }
  // Of a mapping that every cell has: what is there as long as nobody writes to it, if that can be seen elsewhere.
  const char* Pristine(const wire::SurveyedMapping& mapping) const;
  // Gives back what is in the scratch, and mapped over it.
  void Sweep() const;

 private:
  Stem() = default;

  Result<void> List(const UniqueFd& maps, std::span<wire::SurveyedMapping> room);

  std::span<const wire::SurveyedMapping> mappings_;  // Never unmapped, either.
  Scratch* scratch_ = nullptr;                       // Never unmapped.
  std::optional<wire::SurveyedMapping> pristine_;    // Of page_tables.h.
};

}  // namespace caisson::nursery
