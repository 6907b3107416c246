#include <netdb.h>

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tools/http/client.h"
#include "tools/pool.h"

namespace caisson {
namespace {

using asio::ip::tcp;

std::vector<asio::ip::address> LookUp(const std::string& host, int& status) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG;
  addrinfo* found = nullptr;
  status = ::getaddrinfo(host.c_str(), nullptr, &hints, &found);
  std::vector<asio::ip::address> addresses;
  for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
    tcp::endpoint endpoint;
    if (entry->ai_addrlen > endpoint.capacity()) continue;
    std::copy_n(reinterpret_cast<const char*>(entry->ai_addr), entry->ai_addrlen,
                reinterpret_cast<char*>(endpoint.data()));
    addresses.push_back(endpoint.address());
  }
  if (found != nullptr) ::freeaddrinfo(found);
  return addresses;
}

struct Lookup {
  std::vector<asio::ip::address> addresses;
  int status = 0;
};

}  // namespace

Resolver SystemResolver(asio::any_io_executor pool) {
  return [pool](std::string host) -> asio::awaitable<Result<std::vector<asio::ip::address>>> {
    auto lookup = co_await AwaitPooled<Lookup>(pool, [host] {
      Lookup result;
      result.addresses = LookUp(host, result.status);
      return result;
    });
    if (!lookup) co_return Error(ErrorCode::kCancelled, "the lookup was cancelled");
    if (lookup->addresses.empty()) {
      co_return Error(ErrorCode::kUnavailable,
                      "the host " + host + " has no address: " + ::gai_strerror(lookup->status));
    }
    co_return std::move(lookup->addresses);
  };
}

}  // namespace caisson
