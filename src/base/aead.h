// Authenticated encryption (AES-256-GCM): bytes that only who has the key can read, or make.
//
//   auto sealed = AeadSeal(key, "checkpoint of ann", text);      // nonce · ciphertext · tag
//   auto text = AeadOpen(key, "checkpoint of ann", *sealed);
//
// Trust     What is opened is hostile: one changed bit, there or in what it is bound to, and nothing of it comes back.
// Threads   Pure functions.
// Lifetime  An AeadKey wipes itself.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace caisson {

class AeadKey {
 public:
  static constexpr std::size_t kBytes = 32;
  static AeadKey Random();
  explicit AeadKey(std::span<const std::uint8_t, kBytes> bytes);
  AeadKey(const AeadKey&) = default;
  AeadKey& operator=(const AeadKey&) = default;
  ~AeadKey();

  // Another key (HKDF-SHA-256): who has it learns nothing about this one or those of other purposes.
  AeadKey DerivedFor(std::string_view purpose) const;

  std::span<const std::uint8_t, kBytes> bytes() const { return bytes_; }

 private:
  std::array<std::uint8_t, kBytes> bytes_{};
};

// How much longer sealed bytes are.
inline constexpr std::size_t kAeadOverhead = 12 + 16;

// Random nonces of 96 bits are safe for some four billion messages under one key.
Result<std::string> AeadSeal(const AeadKey& key, std::string_view bound_to, std::string_view text);

// kInvalidArgument: not sealed with this key, or bound to something else, or changed.
Result<std::string> AeadOpen(const AeadKey& key, std::string_view bound_to,
                             std::string_view sealed);

}  // namespace caisson
