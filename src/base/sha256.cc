#include "base/sha256.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <charconv>

namespace caisson {

Sha256Digest Sha256(std::string_view bytes) {
  Sha256Digest digest{};
  ::SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data());
  return digest;
}

std::string ToHex(const Sha256Digest& digest) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  hex.reserve(2 * digest.size());
  for (const std::uint8_t byte : digest) {
    hex.push_back(kDigits[byte >> 4]);
    hex.push_back(kDigits[byte & 15]);
  }
  return hex;
}

std::optional<Sha256Digest> Sha256FromHex(std::string_view hex) {
  if (hex.size() != 2 * kSha256Bytes) return std::nullopt;
  Sha256Digest digest{};
  for (std::size_t i = 0; i < digest.size(); ++i) {
    const char* const start = hex.data() + 2 * i;
    const auto parsed = std::from_chars(start, start + 2, digest[i], 16);
    if (parsed.ec != std::errc() || parsed.ptr != start + 2) return std::nullopt;
  }
  return digest;
}

bool EqualInConstantTime(std::string_view a, std::string_view b) {
  return a.size() == b.size() && ::CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

bool EqualInConstantTime(const Sha256Digest& a, const Sha256Digest& b) {
  return ::CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace caisson
