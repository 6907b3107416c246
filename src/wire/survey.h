// What a native cell is told of itself when it is saved: what it has mapped. The kernel says so in /proc, which the host
// can read and a cell has not.
//
// Upon kSave a cell comes to rest and says kAskSurvey; from then on it changes nothing of its memory but the free part of
// its stack. The host looks, and sends another kSave: SurveyHeader, then `mappings` SurveyedMappings in the order of
// addresses, each with its path. Or nothing: the cell stays as it is, and says no more about it.
//
// Trust     Host to cell: believed. Paths and targets are what the cell made them.
// Threads   Types only.
// Lifetime  Types only.
#pragma once

#include <cstddef>
#include <cstdint>

namespace caisson::wire {

// Up, among those of wire/frames.h; without payload.
inline constexpr std::uint16_t kAskSurvey = 64;

struct SurveyHeader {
  std::uint32_t mappings;
  std::uint32_t reserved;
  std::uint64_t stdout_inode;  // Of the pipes that it writes to.
  std::uint64_t stderr_inode;
};

// Above what a process can map. What the kernel puts there (a page for old programs) is in every process.
#ifdef __x86_64__
inline constexpr std::uint64_t kAddressEnd = (std::uint64_t{1} << 47) - 4096;
#else
inline constexpr std::uint64_t kAddressEnd = std::uint64_t{1} << 48;
#endif

enum SurveyedAccess : std::uint32_t { kMayRead = 1, kMayWrite = 2, kMayExecute = 4, kIsShared = 8 };

struct SurveyedMapping {
  std::uint64_t begin;
  std::uint64_t end;
  std::uint64_t offset;
  std::uint64_t device;
  std::uint64_t inode;
  std::uint32_t access;
  std::uint32_t path_length;
};

// All of it. More is refused: what a cell learns of itself lies beside its own memory.
inline constexpr std::size_t kMaxSurveyBytes = 2 << 20;

}  // namespace caisson::wire
