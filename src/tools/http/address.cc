#include "tools/http/address.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

namespace caisson {
namespace {

namespace ip = boost::asio::ip;

struct Block4 {
  std::uint32_t start;
  int bits;
};

constexpr std::uint32_t V4(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
  return a << 24 | b << 16 | c << 8 | d;
}

// IANA's special-purpose registry, the entries that are not globally reachable.
constexpr std::array kNotPublic4 = {
    Block4{V4(0, 0, 0, 0), 8},       Block4{V4(10, 0, 0, 0), 8},
    Block4{V4(100, 64, 0, 0), 10},   Block4{V4(127, 0, 0, 0), 8},
    Block4{V4(169, 254, 0, 0), 16},  Block4{V4(172, 16, 0, 0), 12},
    Block4{V4(192, 0, 0, 0), 24},    Block4{V4(192, 0, 2, 0), 24},
    Block4{V4(192, 31, 196, 0), 24}, Block4{V4(192, 52, 193, 0), 24},
    Block4{V4(192, 88, 99, 0), 24},  Block4{V4(192, 168, 0, 0), 16},
    Block4{V4(192, 175, 48, 0), 24}, Block4{V4(198, 18, 0, 0), 15},
    Block4{V4(198, 51, 100, 0), 24}, Block4{V4(203, 0, 113, 0), 24},
    Block4{V4(224, 0, 0, 0), 4},     Block4{V4(240, 0, 0, 0), 4},
};

bool IsIn(const ip::address_v4& address, std::span<const Block4> blocks) {
  const std::uint32_t value = address.to_uint();
  return std::ranges::any_of(
      blocks, [&](const Block4& block) { return (value ^ block.start) >> (32 - block.bits) == 0; });
}

bool IsPublic(const ip::address_v4& address) {
  return !IsIn(address, kNotPublic4);
}

// Only 2000::/3 is allocated. That excludes the mapped, compatible and NAT64 forms of IPv4, unique
// local, link-local and multicast addresses. Some blocks within it are tunnels or for
// documentation.
bool IsPublic(const ip::address_v6& address) {
  const auto bytes = address.to_bytes();
  const auto group = [&](std::size_t i) {
    return static_cast<unsigned>(bytes[2 * i]) << 8 | bytes[2 * i + 1];
  };
  if ((bytes[0] & 0xe0) != 0x20) return false;
  if (group(0) == 0x2001 && (group(1) < 0x0200 || group(1) == 0x0db8)) return false;  // Teredo...
  if (group(0) == 0x2002) return false;                                               // 6to4.
  return !(group(0) == 0x3fff && group(1) < 0x1000);
}

constexpr std::array kPrivate4 = {
    Block4{V4(10, 0, 0, 0), 8},     Block4{V4(100, 64, 0, 0), 10}, Block4{V4(127, 0, 0, 0), 8},
    Block4{V4(169, 254, 0, 0), 16}, Block4{V4(172, 16, 0, 0), 12}, Block4{V4(192, 168, 0, 0), 16},
};

}  // namespace

bool IsPrivateAddress(const ip::address& address) {
  if (address.is_v4()) return IsIn(address.to_v4(), kPrivate4);
  const auto v6 = address.to_v6();
  const bool is_unique_local = (v6.to_bytes()[0] & 0xfe) == 0xfc;
  return v6.is_loopback() || v6.is_link_local() || is_unique_local;
}

bool IsPublicAddress(const ip::address& address) {
  return address.is_v4() ? IsPublic(address.to_v4()) : IsPublic(address.to_v6());
}

}  // namespace caisson
