// Which addresses lie on the public internet; everything else (private, loopback, link-local, carrier-grade NAT,
// metadata, multicast, documentation, tunnels that carry an IPv4 address inside) leads to somebody's inside.
//
// Trust     Addresses come from DNS, which an attacker may run.
// Threads   Pure.
// Lifetime  Nothing is kept.
#pragma once

#include <boost/asio/ip/address.hpp>

namespace caisson {

bool IsPublicAddress(const boost::asio::ip::address& address);

}  // namespace caisson
