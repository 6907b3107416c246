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

}  // namespace caisson
