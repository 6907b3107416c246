#include "identity/header_resolver.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "identity/peer.h"

namespace caisson {
namespace {

template <typename Bytes>
bool SameStart(const Bytes& a, const Bytes& b, unsigned bits) {
  const std::size_t whole = bits / 8;
  if (!std::equal(a.begin(), a.begin() + whole, b.begin())) return false;
  if (bits % 8 == 0) return true;
  return ((a[whole] ^ b[whole]) >> (8 - bits % 8)) == 0;
}

}  // namespace

bool HeaderResolver::Network::Contains(const asio::ip::address& peer) const {
  if (address.is_v4() != peer.is_v4()) return false;
  if (address.is_v4()) {
    return SameStart(address.to_v4().to_bytes(), peer.to_v4().to_bytes(), bits);
  }
  return SameStart(address.to_v6().to_bytes(), peer.to_v6().to_bytes(), bits);
}

Result<HeaderResolver::Network> HeaderResolver::ParseNetwork(const std::string& text) {
  const auto refuse = [&] {
    return Error(ErrorCode::kInvalidArgument, "proxy \"" + text + "\" is no address or network");
  };
  const std::size_t slash = text.find('/');
  boost::system::error_code failed;
  const asio::ip::address address = asio::ip::make_address(text.substr(0, slash), failed);
  if (failed) return refuse();
  Network network{address, address.is_v4() ? 32U : 128U};
  if (slash == text.npos) return network;
  const unsigned most = std::exchange(network.bits, 0);
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data() + slash + 1, end, network.bits);
  if (parsed.ec != std::errc() || parsed.ptr != end || network.bits > most) return refuse();
  return network;
}

Result<std::unique_ptr<HeaderResolver>> HeaderResolver::Create(const Options& options) {
  if (options.proxies.empty()) {
    return Error(ErrorCode::kInvalidArgument, "mode headers needs the addresses of its proxies");
  }
  std::vector<Network> networks;
  for (const std::string& proxy : options.proxies) {
    TRY_ASSIGN(const Network network, ParseNetwork(proxy));
    networks.push_back(network);
  }
  return std::unique_ptr<HeaderResolver>(
      new HeaderResolver(options.headers, std::move(networks), options.isolation));
}

asio::awaitable<Result<std::optional<Identity>>> HeaderResolver::Read(RequestOrigin request) const {
  co_return FromHeaders(request);
}

Result<std::optional<Identity>> HeaderResolver::FromHeaders(const RequestOrigin& request) const {
  const bool from_proxy =
      request.peer &&
      std::ranges::any_of(proxies_, [peer = WithoutMapping(*request.peer)](const Network& network) {
        return network.Contains(peer);
      });
  if (!from_proxy) {
    return Error(ErrorCode::kUnauthenticated, "the request does not come from a known proxy");
  }
  std::vector<std::optional<std::string>> values;
  for (const auto& name : {headers_.tenant, std::optional(headers_.user), headers_.chat}) {
    if (!name) {
      values.emplace_back();
      continue;
    }
    TRY_ASSIGN(values.emplace_back(), OnlyHeader(request, *name));
  }
  const auto& [tenant, user, chat] = std::tie(values[0], values[1], values[2]);
  if (!tenant && !user && !chat) return std::optional<Identity>();
  if (!user || (headers_.tenant && !tenant) || (headers_.chat && !chat)) {
    return Error(ErrorCode::kUnauthenticated, "some of the identity's headers are missing");
  }
  TRY_ASSIGN(Identity identity, Identity::Create({.tenant = tenant, .user = *user, .chat = chat}));
  return std::optional(std::move(identity));
}

}  // namespace caisson
