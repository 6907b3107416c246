// The process map that a native cell gets when it is saved: the list of its memory mappings. The
// kernel shows it in /proc, which the host can read and a cell cannot.
//
// On kSave, a cell comes to rest and sends kAskProcessMap. From then on it changes nothing in its
// memory but the free part of its stack. The host reads the mappings and sends another kSave: a
// ProcessMapHeader, then `mappings` ProcessMapEntrys sorted by address, each with its path. An
// empty payload means that the cell stays as it is and sends no further message about it.
//
// Trust     Host to cell: trusted. Paths and link targets are chosen by the cell.
// Threads   Types only.
// Lifetime  Types only.
#pragma once

#include <cstddef>
#include <cstdint>

namespace caisson::wire {

// From the cell to the host, in addition to the kinds in wire/frames.h. No payload.
inline constexpr std::uint16_t kAskProcessMap = 64;

struct ProcessMapHeader {
  std::uint32_t mappings;
  std::uint32_t reserved;
  std::uint64_t stdout_inode;  // Of the pipes to which it writes.
  std::uint64_t stderr_inode;
};

// Above this address a process can map nothing. Kernel mappings there (a page for old programs)
// exist in every process.
#ifdef __x86_64__
inline constexpr std::uint64_t kAddressEnd = (std::uint64_t{1} << 47) - 4096;
#else
inline constexpr std::uint64_t kAddressEnd = std::uint64_t{1} << 48;
#endif

enum ProcessMapAccess : std::uint32_t {
  kMayRead = 1,
  kMayWrite = 2,
  kMayExecute = 4,
  kIsShared = 8
};

struct ProcessMapEntry {
  std::uint64_t begin;
  std::uint64_t end;
  std::uint64_t offset;
  std::uint64_t device;
  std::uint64_t inode;
  std::uint32_t access;
  std::uint32_t path_length;
};

// The largest process map. More is refused, because the process map lies beside the cell's own
// memory.
inline constexpr std::size_t kMaxProcessMapBytes = 2 << 20;

}  // namespace caisson::wire
