#include "base/network.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace caisson {
namespace {

namespace ip = boost::asio::ip;

template <typename Bytes>
bool SameStart(const Bytes& a, const Bytes& b, unsigned bits) {
  const std::size_t whole = bits / 8;
  if (!std::equal(a.begin(), a.begin() + whole, b.begin())) return false;
  if (bits % 8 == 0) return true;
  return ((a[whole] ^ b[whole]) >> (8 - bits % 8)) == 0;
}

}  // namespace

ip::address WithoutMapping(const ip::address& address) {
  if (!address.is_v6() || !address.to_v6().is_v4_mapped()) return address;
  return ip::make_address_v4(ip::v4_mapped, address.to_v6());
}

bool Network::Contains(const ip::address& peer) const {
  const ip::address other = WithoutMapping(peer);
  if (address_.is_v4() != other.is_v4()) return false;
  if (address_.is_v4()) {
    return SameStart(address_.to_v4().to_bytes(), other.to_v4().to_bytes(), bits_);
  }
  return SameStart(address_.to_v6().to_bytes(), other.to_v6().to_bytes(), bits_);
}

Result<Network> Network::Parse(const std::string& text) {
  const auto refuse = [&] {
    return Error(ErrorCode::kInvalidArgument, "\"" + text + "\" is not an address or network");
  };
  const std::size_t slash = text.find('/');
  boost::system::error_code failed;
  const ip::address address = ip::make_address(text.substr(0, slash), failed);
  if (failed) return refuse();
  const unsigned most = address.is_v4() ? 32U : 128U;
  if (slash == text.npos) return Network(address, most);
  unsigned bits = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data() + slash + 1, end, bits);
  if (parsed.ec != std::errc() || parsed.ptr != end || bits > most) return refuse();
  return Network(address, bits);
}

}  // namespace caisson
