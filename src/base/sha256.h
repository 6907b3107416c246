// SHA-256, its hexadecimal form, and comparison in constant time.
//
// Trust     Input may be hostile.
// Threads   Pure functions.
// Lifetime  Keeps nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace caisson {

inline constexpr std::size_t kSha256Bytes = 32;
using Sha256Digest = std::array<std::uint8_t, kSha256Bytes>;

Sha256Digest Sha256(std::string_view bytes);

// Returns 64 lower-case digits.
std::string ToHex(const Sha256Digest& digest);
// Returns nullopt unless `hex` is 64 hexadecimal digits.
std::optional<Sha256Digest> Sha256FromHex(std::string_view hex);

// The time depends on the lengths only, not on the position of a difference.
bool EqualInConstantTime(std::string_view a, std::string_view b);
bool EqualInConstantTime(const Sha256Digest& a, const Sha256Digest& b);

}  // namespace caisson
