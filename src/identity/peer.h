// Addresses of peers, as one compares them.
#pragma once

#include <boost/asio/ip/address.hpp>

namespace caisson {

// An IPv4 peer on a socket that serves both comes as ::ffff:a.b.c.d; it is a.b.c.d to every rule.
inline boost::asio::ip::address WithoutMapping(const boost::asio::ip::address& address) {
  if (!address.is_v6() || !address.to_v6().is_v4_mapped()) return address;
  return boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, address.to_v6());
}

}  // namespace caisson
