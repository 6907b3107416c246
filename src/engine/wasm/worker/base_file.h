// caisson.base is the state that every fresh cell starts from: a linear memory in which the
// interpreter is started and warm, and the library of modules and data that cells can read.
//
//   BaseHeader · hot ranges (u32 first page, u32 pages) · memory, page-aligned · library image
//
// caisson-mkbase makes it once, at build time, with a fixed clock and fixed randomness, so that the
// same guest always gives the same bytes.
//
// Trust     As trusted as the worker's own program, and checked against it by the hash of the
//           guest. Cells see it copy-on-write, never writable.
// Threads   Read-only after Open.
// Lifetime  The mapping lives as long as the object. Cells map the file again and need the object.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace caisson::worker {

inline constexpr std::uint64_t kPageBytes = 4096;
inline constexpr std::uint64_t kWasmPageBytes = 65536;

struct BaseHeader {
  char magic[8];
  std::uint32_t wasm_pages;    // Size of the linear memory.
  std::uint32_t stack_global;  // The module's only mutable global: its C stack pointer.
  std::uint32_t hot_ranges;
  std::uint32_t reserved;
  std::uint64_t memory_offset;
  std::uint64_t library_offset;
  std::uint64_t library_bytes;
  std::uint8_t hash[32];  // SHA-256 of everything after the header.
};
inline constexpr char kBaseMagic[8] = {'C', 'A', 'I', 'S', 'B', 'A', 'S', '1'};

struct PageRange {
  std::uint32_t first;
  std::uint32_t count;
};

class BaseFile {
 public:
  static Result<BaseFile> Open(UniqueFd fd);
  BaseFile(BaseFile&& other) noexcept;
  BaseFile& operator=(BaseFile&&) = delete;
  ~BaseFile();

  const BaseHeader& header() const { return header_; }
  const UniqueFd& fd() const { return fd_; }
  std::uint64_t memory_bytes() const { return header_.wasm_pages * kWasmPageBytes; }
  std::span<const std::uint8_t> memory() const {
    return {map_ + header_.memory_offset, memory_bytes()};
  }
  std::span<const std::uint8_t> library() const {
    return {map_ + header_.library_offset, header_.library_bytes};
  }
  // Pages that nearly every run writes; measured when the base was made.
  std::span<const PageRange> hot() const { return hot_; }
  bool is_hot(std::uint64_t page) const {
    return page < hot_pages_.size() && hot_pages_[page] != 0;
  }

 private:
  BaseFile() = default;

  UniqueFd fd_;
  const std::uint8_t* map_ = nullptr;
  std::uint64_t map_bytes_ = 0;
  BaseHeader header_{};
  std::vector<PageRange> hot_;
  std::vector<std::uint8_t> hot_pages_;
};

}  // namespace caisson::worker
