// The bytes of one file in memory.
//
// Kept as chunks, so that appending never copies what is there and a gap costs nothing. A file that
// the host gave shares the host's bytes until it is written to.
//
// Trust     The caller has checked offsets and sizes against the quotas; memory used stays below
//           twice size() plus a constant, whatever the order of calls.
// Threads   The worker's one thread.
// Lifetime  A value. Shared bytes are owned together with the host-provided list they came from.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace caisson::worker {

class FileContents {
 public:
  static constexpr std::size_t kChunkBytes = std::size_t{64} << 10;

  std::uint64_t size() const { return shared_ ? shared_->size() : size_; }

  // Copies what lies at `offset` into `out` and returns how much that was: 0 at or after the end.
  std::size_t Read(std::uint64_t offset, std::span<std::uint8_t> out) const;

  // Precondition for both: !shared(). They grow the file as needed; new bytes are zero.
  void Write(std::uint64_t offset, std::span<const std::uint8_t> data);
  void Resize(std::uint64_t size);

  // Becomes a view of `bytes`, whatever it was before.
  void Share(std::shared_ptr<const std::string> bytes);
  bool shared() const { return shared_ != nullptr; }
  // Copies at most `bytes` more of what is shared; true once it is a private copy.
  bool Unshare(std::uint64_t bytes);
  // Becomes empty.
  void Clear();

  // For saving: what is stored of chunk i; what lies between that and the chunk's end is zero.
  std::size_t chunk_count() const { return chunks_.size(); }
  std::span<const std::uint8_t> chunk(std::size_t i) const { return chunks_[i]; }

 private:
  void WriteChunk(std::size_t index, std::size_t at, std::span<const std::uint8_t> data);

  std::vector<std::vector<std::uint8_t>> chunks_;
  std::uint64_t size_ = 0;
  std::shared_ptr<const std::string>
      shared_;  // While it is set, the chunks are a copy in the making.
};

}  // namespace caisson::worker
