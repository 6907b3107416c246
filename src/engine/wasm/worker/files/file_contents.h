// The bytes of one file in memory.
//
// They are kept in chunks, so that appending never copies existing bytes and a gap costs nothing. A
// file that the host provided shares the host's bytes until it is written to.
//
// Trust     The caller has checked offsets and sizes against the quotas. The memory used stays
//           below twice size() plus a constant, whatever the order of calls.
// Threads   The worker's only thread.
// Lifetime  A value. Shared bytes are owned together with the list of host files they came from.
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

  // Copies the bytes at `offset` into `out` and returns their number: 0 at or after the end.
  std::size_t Read(std::uint64_t offset, std::span<std::uint8_t> out) const;

  // Precondition for both: !shared(). They grow the file as needed; new bytes are zero.
  void Write(std::uint64_t offset, std::span<const std::uint8_t> data);
  void Resize(std::uint64_t size);

  // Becomes a view of `bytes`; the previous contents are dropped.
  void Share(std::shared_ptr<const std::string> bytes);
  bool shared() const { return shared_ != nullptr; }
  // Copies at most `bytes` more of the shared bytes. Returns true once the copy is complete and
  // private.
  bool Unshare(std::uint64_t bytes);
  // Becomes empty.
  void Clear();

  // For saving: the stored bytes of chunk i. The rest of the chunk is zero.
  std::size_t chunk_count() const { return chunks_.size(); }
  std::span<const std::uint8_t> chunk(std::size_t i) const { return chunks_[i]; }

 private:
  void WriteChunk(std::size_t index, std::size_t at, std::span<const std::uint8_t> data);

  std::vector<std::vector<std::uint8_t>> chunks_;
  std::uint64_t size_ = 0;
  std::shared_ptr<const std::string>
      shared_;  // While it is set, the chunks are an incomplete copy.
};

}  // namespace caisson::worker
