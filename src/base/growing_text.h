// A GrowingText is a text that is only appended to. It never moves what it holds, so appending
// takes time for the new bytes only, and a copy shares the bytes instead of copying them.
//
//   text.Append(bytes);
//   const GrowingText snapshot = text;   // cheap; later appends do not change it
//   std::string whole = snapshot.str();  // copies the bytes
//
// Trust     Any bytes.
// Threads   Append() by one thread at a time; copy the text under the same lock. A copy may be read
//           on any thread while the original grows.
// Lifetime  Blocks are shared by the copies.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace caisson {

class GrowingText {
 public:
  GrowingText() = default;
  explicit GrowingText(std::string_view text) { Append(text); }

  // Must not be called on a copy while the original, or another copy, may be appended to.
  void Append(std::string_view bytes) {
    while (!bytes.empty()) {
      const std::size_t at = size_ % kBlockBytes;
      if (at == 0) blocks_.push_back(std::make_shared_for_overwrite<Block>());
      const std::size_t count = std::min(bytes.size(), kBlockBytes - at);
      std::ranges::copy(bytes.substr(0, count), blocks_.back()->begin() + at);
      size_ += count;
      bytes.remove_prefix(count);
    }
  }

  std::size_t size() const { return size_; }
  std::string str() const {
    std::string text;
    text.reserve(size_);
    for (const auto& block : blocks_) {
      text.append(block->data(), std::min(kBlockBytes, size_ - text.size()));
    }
    return text;
  }

 private:
  static constexpr std::size_t kBlockBytes = 16u << 10;
  using Block = std::array<char, kBlockBytes>;

  std::vector<std::shared_ptr<Block>> blocks_;  // Full, except for the last one.
  std::size_t size_ = 0;
};

}  // namespace caisson
