// Recognises addresses on the public internet. All others (private, loopback, link-local,
// carrier-grade NAT, metadata, multicast, documentation, tunnels that contain an IPv4 address) may
// lead to an internal network.
//
// Trust     Addresses come from DNS, which an attacker may run.
// Threads   Pure.
// Lifetime  Keeps nothing.
#pragma once

#include <boost/asio/ip/address.hpp>

namespace caisson {

bool IsPublicAddress(const boost::asio::ip::address& address);

// Returns true for loopback, private and link-local addresses, and those of carrier-grade NAT,
// which private overlay networks use. Other addresses that are not public return false: a tunnel
// may lead to the internet.
bool IsPrivateAddress(const boost::asio::ip::address& address);

}  // namespace caisson
