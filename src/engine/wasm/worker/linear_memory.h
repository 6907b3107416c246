// One cell's linear memory: the base, copy-on-write, inside a reservation so large that no address a
// guest can form leaves it.
//
// Trust     The contents are the guest's. Generated code adds a 32-bit index and a 32-bit offset to
//           %gs, which stays below 8 GiB: inside the reservation, where what is not memory faults.
// Threads   The worker's one thread.
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
  // Opens /proc/self/pagemap; must happen before the jail takes /proc away.
  static Result<DirtyPages> Open();

  // Pages of [begin, begin + bytes) that differ in origin from the mapped file, as page numbers from
  // `begin`; every one of them, in order. Valid until the next call.
  std::span<const PageRange> Find(const std::uint8_t* begin, std::uint64_t bytes);

  // Page faults of this process so far. A page of a private mapping is first written through one, so
  // while the number stays, no page has become dirty that was not before.
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

  // More memory, zeroed. False if the kernel refuses.
  bool GrowTo(std::uint32_t wasm_pages);

  // Gives back at most `bytes` of what was grown: a step towards Reset() that does not take long. True:
  // there is nothing grown left.
  bool Shrink(std::uint64_t bytes);

  // Makes it the base again, bit for bit (I8). Hot pages are copied back and stay mapped; so are some
  // others that recent runs wrote, since the next run is likely to be of their kind (warm pages). All
  // other pages that were written are dropped, and what was grown is unmapped. Whether it took long, for
  // having to look for other pages.
  bool Reset();

  // Takes the page faults of a first run's writes ahead of time. Not those of its reads: every page that
  // is mapped makes looking for dirty ones longer.
  void Prefault();

  // Whether it is the base, byte by byte. Milliseconds; for tests.
  bool IsPristine() const;

  std::span<const PageRange> FindDirty() { return dirty_.Find(data_, bytes()); }
  const BaseFile& base() const { return base_; }

  // Whether `address` lies in this cell's reservation: a fault there is the guest's own.
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
  // DirtyPages::Faults() when only hot and warm pages were private; 0: never.
  std::uint64_t clean_at_faults_ = 0;
  std::vector<PageRange> warm_;
  std::vector<std::uint8_t> is_warm_;
  std::uint32_t warm_pages_ = 0;
  std::uint32_t resets_ = 0;
};

}  // namespace caisson::worker
