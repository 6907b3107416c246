#include "engine/wasm/worker/linear_memory.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace caisson::worker {
namespace {

// 32-bit index + 32-bit offset + the widest access.
constexpr std::uint64_t kReservationBytes = (std::uint64_t{8} << 30) + kWasmPageBytes;

// Defined here because Debian 12's kernel headers are older than the call.
struct PagemapScan {
  std::uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
  std::uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};
struct PagemapRegion {
  std::uint64_t start, end, categories;
};
constexpr std::uint64_t kPageIsFile = 1 << 2;
constexpr std::uint64_t kPageIsPresent = 1 << 3;
constexpr std::uint64_t kPageIsSwapped = 1 << 4;
constexpr unsigned long kPagemapScan = _IOWR('f', 16, PagemapScan);

// Bits of an entry of /proc/self/pagemap.
constexpr std::uint64_t kEntryPresent = std::uint64_t{1} << 63;
constexpr std::uint64_t kEntrySwapped = std::uint64_t{1} << 62;
constexpr std::uint64_t kEntryFile = std::uint64_t{1} << 61;

// A page that is copied back costs every later reset of the cell an eighth of a microsecond. A page
// that faults costs its run several, and the reset a search.
constexpr std::uint32_t kMaxWarmPages = 128;
// Drops pages that runs no longer use.
constexpr std::uint32_t kForgetWarmAfter = 1024;

// If a dirty page were missed, the next cell would see it. So the worker cannot continue.
[[noreturn]] void Die() {
  std::abort();
}

// Returns to the file's page: the private one is given back to the kernel.
void Drop(std::uint8_t* begin, std::uint64_t bytes) {
  if (::madvise(begin, bytes, MADV_DONTNEED) != 0) Die();
}

}  // namespace

Result<DirtyPages> DirtyPages::Open() {
  DirtyPages dirty;
  dirty.fd_ = UniqueFd(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
  if (!dirty.fd_.is_open()) return Error::FromErrno(errno, "open /proc/self/pagemap");
  PagemapScan probe{};
  probe.size = sizeof probe;
  dirty.has_scan_ = ::ioctl(dirty.fd_.get(), kPagemapScan, &probe) >= 0;
  return dirty;
}

std::span<const PageRange> DirtyPages::Find(const std::uint8_t* begin, std::uint64_t bytes) {
  found_.clear();
  if (has_scan_) {
    FindByScan(begin, bytes);
  } else {
    FindByRead(begin, bytes);
  }
  return found_;
}

std::uint64_t DirtyPages::Faults() {
  rusage usage{};
  if (::getrusage(RUSAGE_THREAD, &usage) != 0) Die();
  return static_cast<std::uint64_t>(usage.ru_minflt) + static_cast<std::uint64_t>(usage.ru_majflt);
}

void DirtyPages::FindByScan(const std::uint8_t* begin, std::uint64_t bytes) {
  static PagemapRegion regions[1024];
  const auto base = reinterpret_cast<std::uint64_t>(begin);
  PagemapScan scan{};
  scan.size = sizeof scan;
  scan.start = base;
  scan.end = base + bytes;
  scan.vec = reinterpret_cast<std::uint64_t>(regions);
  scan.vec_len = std::size(regions);
  scan.category_mask = kPageIsFile;
  scan.category_inverted = kPageIsFile;
  scan.category_anyof_mask = kPageIsPresent | kPageIsSwapped;
  scan.return_mask = kPageIsPresent;
  // The kernel stops when the vector is full; the range after walk_end is not scanned yet.
  while (scan.start < scan.end) {
    const int count = ::ioctl(fd_.get(), kPagemapScan, &scan);
    if (count < 0 || scan.walk_end <= scan.start) Die();
    for (int i = 0; i < count; ++i) {
      Add((regions[i].start - base) / kPageBytes, (regions[i].end - regions[i].start) / kPageBytes);
    }
    scan.start = scan.walk_end;
  }
}

void DirtyPages::FindByRead(const std::uint8_t* begin, std::uint64_t bytes) {
  constexpr std::uint64_t kBatch = 4096;
  entries_.resize(kBatch);
  const std::uint64_t first = reinterpret_cast<std::uint64_t>(begin) / kPageBytes;
  const std::uint64_t pages = bytes / kPageBytes;
  for (std::uint64_t at = 0; at < pages; at += kBatch) {
    const std::uint64_t count = std::min(kBatch, pages - at);
    const auto want = static_cast<ssize_t>(count * sizeof(std::uint64_t));
    if (::pread(fd_.get(), entries_.data(), static_cast<std::size_t>(want),
                static_cast<off_t>((first + at) * sizeof(std::uint64_t))) != want) {
      Die();
    }
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t entry = entries_[i];
      if ((entry & (kEntryPresent | kEntrySwapped)) != 0 && (entry & kEntryFile) == 0) {
        Add(at + i, 1);
      }
    }
  }
}

void DirtyPages::Add(std::uint64_t first, std::uint64_t count) {
  if (!found_.empty() && found_.back().first + found_.back().count == first) {
    found_.back().count += static_cast<std::uint32_t>(count);
  } else {
    found_.push_back({static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(count)});
  }
}

Result<LinearMemory> LinearMemory::Map(const BaseFile& base, DirtyPages& dirty) {
  LinearMemory memory(base, dirty);
  void* reserved = ::mmap(nullptr, kReservationBytes, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) return Error::FromErrno(errno, "reserve a linear memory");
  memory.data_ = static_cast<std::uint8_t*>(reserved);
  memory.wasm_pages_ = base.header().wasm_pages;
  memory.is_warm_.resize(base.memory_bytes() / kPageBytes);
  if (::mmap(reserved, base.memory_bytes(), PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, base.fd().get(),
             static_cast<off_t>(base.header().memory_offset)) == MAP_FAILED) {
    return Error::FromErrno(errno, "map a linear memory");
  }
  return memory;
}

LinearMemory::LinearMemory(LinearMemory&& other) noexcept
    : base_(other.base_),
      dirty_(other.dirty_),
      data_(std::exchange(other.data_, nullptr)),
      wasm_pages_(other.wasm_pages_),
      clean_at_faults_(other.clean_at_faults_),
      warm_(std::move(other.warm_)),
      is_warm_(std::move(other.is_warm_)),
      warm_pages_(other.warm_pages_),
      resets_(other.resets_) {}

LinearMemory::~LinearMemory() {
  if (data_ != nullptr) ::munmap(data_, kReservationBytes);
}

bool LinearMemory::GrowTo(std::uint32_t wasm_pages) {
  if (wasm_pages <= wasm_pages_) return wasm_pages == wasm_pages_;
  if (wasm_pages > 65536) return false;
  const std::uint64_t more = (wasm_pages - wasm_pages_) * kWasmPageBytes;
  if (::mprotect(data_ + bytes(), more, PROT_READ | PROT_WRITE) != 0) return false;
  wasm_pages_ = wasm_pages;
  return true;
}

bool LinearMemory::Shrink(std::uint64_t most) {
  const std::uint64_t grown = bytes() - base_.memory_bytes();
  const std::uint64_t gone = std::min(grown, most / kWasmPageBytes * kWasmPageBytes);
  if (gone > 0) {
    // A fresh mapping over it: the pages are given back to the kernel and the addresses fault
    // again.
    if (::mmap(data_ + bytes() - gone, gone, PROT_NONE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED) {
      Die();
    }
    wasm_pages_ -= static_cast<std::uint32_t>(gone / kWasmPageBytes);
  }
  return gone == grown;
}

bool LinearMemory::Reset() {
  Shrink(bytes());
  if (++resets_ % kForgetWarmAfter == 0) DropWarm();
  for (const PageRange& range : base_.hot()) CopyBack(range);
  for (const PageRange& range : warm_) CopyBack(range);
  if (clean_at_faults_ != 0 && DirtyPages::Faults() == clean_at_faults_) return false;
  RestoreCold();
  clean_at_faults_ = DirtyPages::Faults();
  return true;
}

void LinearMemory::CopyBack(const PageRange& range) {
  std::memcpy(data_ + range.first * kPageBytes, base_.memory().data() + range.first * kPageBytes,
              range.count * kPageBytes);
}

void LinearMemory::RestoreCold() {
  const auto handled = [this](std::uint64_t page) {
    return base_.is_hot(page) || is_warm_[page] != 0;
  };
  for (const PageRange& range : FindDirty()) {
    const std::uint32_t end = range.first + range.count;
    for (std::uint32_t page = range.first; page < end;) {
      if (handled(page)) {
        ++page;
        continue;
      }
      std::uint32_t until = page + 1;
      while (until < end && !handled(until)) ++until;
      const PageRange cold{page, until - page};
      if (warm_pages_ + cold.count <= kMaxWarmPages) {
        CopyBack(cold);
        warm_.push_back(cold);
        warm_pages_ += cold.count;
        std::memset(&is_warm_[page], 1, cold.count);
      } else {
        Drop(data_ + page * kPageBytes, cold.count * kPageBytes);
      }
      page = until;
    }
  }
}

void LinearMemory::DropWarm() {
  for (const PageRange& range : warm_)
    Drop(data_ + range.first * kPageBytes, range.count * kPageBytes);
  warm_.clear();
  warm_pages_ = 0;
  std::ranges::fill(is_warm_, 0);
}

void LinearMemory::Prefault() {
  // The value from Linux 5.14, newer than some headers. On a kernel without it only the first run
  // of this cell is slower.
  constexpr int kPopulateWrite = 23;
  for (const PageRange& range : base_.hot()) {
    ::madvise(data_ + range.first * kPageBytes, range.count * kPageBytes, kPopulateWrite);
  }
}

bool LinearMemory::IsPristine() const {
  return bytes() == base_.memory_bytes() &&
         std::memcmp(data_, base_.memory().data(), base_.memory_bytes()) == 0;
}

bool LinearMemory::Covers(const void* address) const {
  const auto* at = static_cast<const std::uint8_t*>(address);
  return at >= data_ && at < data_ + kReservationBytes;
}

}  // namespace caisson::worker
