// Authenticated encryption with AES-256-GCM. Only a holder of the key can read or create sealed
// bytes.
//
//   auto sealed = AeadSeal(key, "checkpoint of ann", text);      // nonce · ciphertext · tag
//   auto text = AeadOpen(key, "checkpoint of ann", *sealed);
//
// Trust     Bytes to open are hostile. If one bit of them or of `bound_to` differs, AeadOpen fails
//           and returns none of the text.
// Threads   Pure functions.
// Lifetime  The destructor of an AeadKey wipes the key.
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

  // Derives another key (HKDF-SHA-256). A derived key reveals nothing about this key or about keys
  // derived for other purposes.
  AeadKey DerivedFor(std::string_view purpose) const;

  std::span<const std::uint8_t, kBytes> bytes() const { return bytes_; }

 private:
  std::array<std::uint8_t, kBytes> bytes_{};
};

// The number of bytes that sealing adds.
inline constexpr std::size_t kAeadOverhead = 12 + 16;

// Uses random 96-bit nonces, which are safe for about four billion messages under one key.
Result<std::string> AeadSeal(const AeadKey& key, std::string_view bound_to, std::string_view text);

// Fails with kInvalidArgument if the bytes were changed, sealed with another key, or bound to
// something else.
Result<std::string> AeadOpen(const AeadKey& key, std::string_view bound_to,
                             std::string_view sealed);

}  // namespace caisson
