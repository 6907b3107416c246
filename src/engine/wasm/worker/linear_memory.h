// One cell's linear memory: the base, copy-on-write, inside a reservation so large that no address
// a guest can form is outside it.
//
// Trust     The contents are the guest's. Generated code adds a 32-bit index and a 32-bit offset to
//           %gs. The result is below 8 GiB and so inside the reservation, where everything that is
//           not memory faults.
// Threads   The worker's only thread.
// Lifetime  Owns the mapping. The BaseFile and DirtyPages must outlive it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "engine/wasm/worker/base_file.h"

namespace caisson::worker {

// Finds the pages of a private mapping that were written. Uses PAGEMAP_SCAN (Linux 6.7), or reads
// the page map itself on older kernels.
class DirtyPages {
 public:
  // Opens /proc/self/pagemap. Call it before the jail removes /proc.
  static Result<DirtyPages> Open();

  // Returns all written pages of [begin, begin + bytes), which no longer come from the mapped file,
  // in order, as page numbers from `begin`. Valid until the next call.
  std::span<const PageRange> Find(const std::uint8_t* begin, std::uint64_t bytes);

  // Returns the number of page faults of this process so far. The first write to a page of a
  // private mapping causes one. So while the number is constant, no further page has become dirty.
  static std::uint64_t Faults();

  const UniqueFd& fd() const { return fd_; }

 private:
  void FindByScan(const std::uint8_t* begin, std::uint64_t bytes);
  void FindByRead(const std::uint8_t* begin, std::uint64_t bytes);
  void Add(std::uint64_t first, std::uint64_t count);

  UniqueFd fd_;
  bool has_scan_ = false;
  std::vector<PageRange> found_;
  std::vector<std::uint64_t> entries_;
};

class LinearMemory {
 public:
  static Result<LinearMemory> Map(const BaseFile& base, DirtyPages& dirty);
  LinearMemory(LinearMemory&& other) noexcept;
  LinearMemory& operator=(LinearMemory&&) = delete;
  ~LinearMemory();

  std::uint8_t* data() const { return data_; }
  std::uint32_t wasm_pages() const { return wasm_pages_; }
  std::uint64_t bytes() const { return wasm_pages_ * kWasmPageBytes; }

  // Adds zeroed memory. Returns false if the kernel refuses.
  bool GrowTo(std::uint32_t wasm_pages);

  // Returns at most `bytes` of the grown memory to the kernel, as a short step towards Reset().
  // Returns true if no grown memory is left.
  bool Shrink(std::uint64_t bytes);

  // Restores the base, bit for bit (I8). Hot pages are copied back and stay mapped, and so do some
  // other pages that recent runs wrote, because the next run is likely to be similar (warm pages).
  // All other written pages are dropped, and grown memory is unmapped. Returns whether it took long
  // because it had to search for other pages.
  bool Reset();

  // Causes the page faults of a first run's writes in advance. Not those of its reads: every mapped
  // page makes the search for dirty pages longer.
  void Prefault();

  // Returns whether it equals the base, byte by byte. Takes milliseconds; for tests.
  bool IsPristine() const;

  std::span<const PageRange> FindDirty() { return dirty_.Find(data_, bytes()); }
  const BaseFile& base() const { return base_; }

  // Returns whether `address` lies in this cell's reservation. The guest caused a fault there.
  bool Covers(const void* address) const;

 private:
  LinearMemory(const BaseFile& base, DirtyPages& dirty) : base_(base), dirty_(dirty) {}
  void CopyBack(const PageRange& range);
  void RestoreCold();
  void DropWarm();

  const BaseFile& base_;
  DirtyPages& dirty_;
  std::uint8_t* data_ = nullptr;
  std::uint32_t wasm_pages_ = 0;
  // DirtyPages::Faults() at a time when only hot and warm pages were private; 0: never.
  std::uint64_t clean_at_faults_ = 0;
  std::vector<PageRange> warm_;
  std::vector<std::uint8_t> is_warm_;
  std::uint32_t warm_pages_ = 0;
  std::uint32_t resets_ = 0;
};

}  // namespace caisson::worker
