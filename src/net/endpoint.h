// Parses the address on which a server listens: "127.0.0.1:8080", "[::1]:0", "localhost:8080".
//
// Trust     The operator's text.
// Threads   Pure functions.
// Lifetime  Keeps nothing.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace caisson::net {

namespace asio = boost::asio;

// Fails with kInvalidArgument and a description of the format. The only accepted name is localhost:
// other names may have several addresses, and the choice must not be left to chance.
Result<asio::ip::tcp::endpoint> ParseEndpoint(std::string_view text);

std::string ToText(const asio::ip::tcp::endpoint& endpoint);

}  // namespace caisson::net
