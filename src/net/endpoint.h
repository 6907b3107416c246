// Where a server listens, as people write it: "127.0.0.1:8080", "[::1]:0", "localhost:8080".
//
// Trust     The operator's text.
// Threads   Pure functions.
// Lifetime  Nothing is kept.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace caisson::net {

namespace asio = boost::asio;

// kInvalidArgument, saying how it is written. Of names only localhost is known: which of a name's addresses would be
// served is nothing to leave to chance.
Result<asio::ip::tcp::endpoint> ParseEndpoint(std::string_view text);

std::string ToText(const asio::ip::tcp::endpoint& endpoint);

}  // namespace caisson::net
