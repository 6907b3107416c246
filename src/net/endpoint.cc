#include "net/endpoint.h"

#include <boost/asio/ip/address.hpp>
#include <charconv>
#include <cstdint>

namespace caisson::net {

Result<asio::ip::tcp::endpoint> ParseEndpoint(std::string_view text) {
  const auto bad = [&] {
    return Error(ErrorCode::kInvalidArgument,
                 "cannot listen on '" + std::string(text) +
                     "': write ADDRESS:PORT, like 127.0.0.1:8080 or [::1]:8080");
  };
  const std::size_t colon = text.rfind(':');
  if (colon == text.npos) return bad();
  std::string host(text.substr(0, colon));
  const std::string_view port_text = text.substr(colon + 1);
  std::uint16_t port = 0;
  const auto [end, failed] =
      std::from_chars(port_text.data(), port_text.data() + port_text.size(), port);
  if (failed != std::errc() || end != port_text.data() + port_text.size()) return bad();
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (host == "localhost") host = "127.0.0.1";
  boost::system::error_code no_address;
  const auto address = asio::ip::make_address(host, no_address);
  if (no_address || address.is_v6() != bracketed) return bad();
  return asio::ip::tcp::endpoint(address, port);
}

std::string ToText(const asio::ip::tcp::endpoint& endpoint) {
  const std::string address = endpoint.address().to_string();
  return (endpoint.address().is_v6() ? "[" + address + "]" : address) + ":" +
         std::to_string(endpoint.port());
}

}  // namespace caisson::net
