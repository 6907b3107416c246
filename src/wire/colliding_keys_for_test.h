// Makes keys that all have the same std::hash. A table that relies on this hash needs seconds to
// find duplicates among 32,768 of them.
//
// libstdc++ hashes strings with MurmurHash64A and a fixed seed. After any eight-byte block, the
// next block can be chosen so that the hash state becomes a given one. So each stage has two pairs
// of blocks that lead to the same state, and n stages make 2^n keys.
//
// Trust     For tests only.
// Threads   Pure functions.
// Lifetime  Keeps nothing.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace caisson {

class CollidingKeys {
 public:
  // Returns 2^stages keys of 16 * stages ASCII characters each.
  static std::vector<std::string> Make(int stages) {
    CollidingKeys maker(stages);
    std::vector<std::string> keys{""};
    for (int stage = 0; stage < stages; ++stage) {
      const auto pairs = maker.NextStage();
      std::vector<std::string> longer;
      for (const std::string& key : keys) {
        for (const std::string& pair : pairs) longer.push_back(key + pair);
      }
      keys = std::move(longer);
    }
    return keys;
  }

 private:
  static constexpr std::uint64_t kMul = 0xc6a4a7935bd1e995;
  static constexpr std::uint64_t kSeed = 0xc70f6907;

  explicit CollidingKeys(int stages)
      : state_(kSeed ^ (static_cast<std::uint64_t>(stages) * 16 * kMul)), inverse_(kMul) {
    for (int i = 0; i < 6; ++i) inverse_ *= 2 - kMul * inverse_;  // Newton's method modulo 2^64.
  }

  static std::uint64_t Fold(std::uint64_t value) { return value ^ (value >> 47); }
  static std::uint64_t Mixed(std::uint64_t block) { return Fold(block * kMul) * kMul; }
  std::uint64_t Unmixed(std::uint64_t mixed) const { return Fold(mixed * inverse_) * inverse_; }

  static bool IsAscii(std::uint64_t block) { return (block & 0x8080808080808080) == 0; }
  static std::string Text(std::uint64_t first, std::uint64_t second) {
    std::string text(16, '\0');
    std::memcpy(text.data(), &first, 8);
    std::memcpy(text.data() + 8, &second, 8);
    return text;
  }

  std::array<std::string, 2> NextStage() {
    const std::uint64_t target = random_();  // The state before its last multiplication.
    std::array<std::string, 2> pairs;
    for (std::size_t found = 0; found < pairs.size();) {
      const std::uint64_t first = random_() & 0x7f7f7f7f7f7f7f7f;
      const std::uint64_t second = Unmixed(target ^ ((state_ ^ Mixed(first)) * kMul));
      if (IsAscii(second)) pairs[found++] = Text(first, second);
    }
    state_ = target * kMul;
    return pairs;
  }

  std::uint64_t state_;
  std::uint64_t inverse_;
  std::mt19937_64 random_{42};
};

}  // namespace caisson
