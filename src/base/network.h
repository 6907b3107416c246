// A Network is a range of IP addresses in the notation of operators: "10.0.0.7", "10.1.0.0/16",
// "fd00::/8".
//
// Trust     The text is the operator's; addresses are those of peers.
// Threads   A value.
// Lifetime  A value.
#pragma once

#include <boost/asio/ip/address.hpp>
#include <string>

#include "base/result.h"

namespace caisson {

// Returns a.b.c.d for ::ffff:a.b.c.d, the form of an IPv4 peer on a socket that serves both
// versions. Returns other addresses unchanged.
boost::asio::ip::address WithoutMapping(const boost::asio::ip::address& address);

class Network {
 public:
  // Fails with kInvalidArgument if `text` is not an address or network.
  static Result<Network> Parse(const std::string& text);

  bool Contains(const boost::asio::ip::address& peer) const;

 private:
  Network(boost::asio::ip::address address, unsigned bits) : address_(address), bits_(bits) {}

  // The range: all addresses whose first `bits_` bits equal those of `address_`.
  boost::asio::ip::address address_;
  unsigned bits_;
};

}  // namespace caisson
