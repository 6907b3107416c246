#include "engine/wasm/worker/files/file_contents.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace caisson::worker {
namespace {

std::size_t ChunkOf(std::uint64_t offset) {
  return static_cast<std::size_t>(offset / FileContents::kChunkBytes);
}

std::size_t WithinChunk(std::uint64_t offset) {
  return static_cast<std::size_t>(offset % FileContents::kChunkBytes);
}

}  // namespace

std::size_t FileContents::Read(std::uint64_t offset, std::span<std::uint8_t> out) const {
  if (offset >= size() || out.empty()) return 0;
  const auto length =
      static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), size() - offset));
  if (shared_) {
    std::memcpy(out.data(), shared_->data() + offset, length);
    return length;
  }
  for (std::size_t done = 0; done < length;) {
    const std::size_t at = WithinChunk(offset + done);
    const std::size_t part = std::min(length - done, kChunkBytes - at);
    const auto& bytes = chunks_[ChunkOf(offset + done)];
    const std::size_t stored = at < bytes.size() ? std::min(part, bytes.size() - at) : 0;
    if (stored > 0) std::memcpy(out.data() + done, bytes.data() + at, stored);
    std::memset(out.data() + done + stored, 0, part - stored);
    done += part;
  }
  return length;
}

void FileContents::WriteChunk(std::size_t index, std::size_t at,
                              std::span<const std::uint8_t> data) {
  auto& bytes = chunks_[index];
  const std::size_t end = at + data.size();
  if (end > bytes.capacity()) {
    // Only a file's first chunk grows step by step: there are many small files, which must stay
    // small.
    const std::size_t grown = index == 0 ? std::max(end, 2 * bytes.capacity()) : kChunkBytes;
    bytes.reserve(std::min(grown, kChunkBytes));
  }
  if (bytes.size() < at) bytes.resize(at);
  const std::size_t over = std::min(data.size(), bytes.size() - at);
  if (over > 0) std::memcpy(bytes.data() + at, data.data(), over);
  bytes.insert(bytes.end(), data.begin() + static_cast<std::ptrdiff_t>(over), data.end());
}

void FileContents::Write(std::uint64_t offset, std::span<const std::uint8_t> data) {
  if (data.empty()) return;
  if (offset + data.size() > size_) Resize(offset + data.size());
  while (!data.empty()) {
    const std::size_t at = WithinChunk(offset);
    const std::size_t part = std::min(data.size(), kChunkBytes - at);
    WriteChunk(ChunkOf(offset), at, data.first(part));
    offset += part;
    data = data.subspan(part);
  }
}

void FileContents::Resize(std::uint64_t size) {
  const std::size_t chunks = ChunkOf(size) + (WithinChunk(size) != 0 ? 1 : 0);
  if (size < size_) {
    // Truncated data must be freed: otherwise a guest that grows and truncates file after file
    // would hold many times its quota.
    chunks_.resize(chunks);
    chunks_.shrink_to_fit();
    if (const std::size_t rest = WithinChunk(size); rest != 0 && chunks_.back().size() > rest) {
      chunks_.back().resize(rest);
      chunks_.back().shrink_to_fit();
    }
  } else {
    chunks_.resize(chunks);
  }
  size_ = size;
}

void FileContents::Share(std::shared_ptr<const std::string> bytes) {
  Clear();
  shared_ = std::move(bytes);
}

bool FileContents::Unshare(std::uint64_t bytes) {
  if (!shared_) return true;
  const std::span all(reinterpret_cast<const std::uint8_t*>(shared_->data()), shared_->size());
  const auto rest = all.subspan(static_cast<std::size_t>(size_));
  const auto slice =
      rest.first(static_cast<std::size_t>(std::min<std::uint64_t>(rest.size(), bytes)));
  Write(size_, slice);
  if (slice.size() < rest.size()) return false;
  shared_.reset();
  return true;
}

void FileContents::Clear() {
  shared_.reset();
  chunks_.clear();
  chunks_.shrink_to_fit();
  size_ = 0;
}

}  // namespace caisson::worker
