#include "identity/header_resolver.h"

#include <algorithm>
#include <utility>

namespace caisson {

Result<std::unique_ptr<HeaderResolver>> HeaderResolver::Create(const Options& options) {
  if (options.proxies.empty()) {
    return Error(ErrorCode::kInvalidArgument, "mode headers needs the addresses of its proxies");
  }
  std::vector<Network> networks;
  for (const std::string& proxy : options.proxies) {
    auto network = Network::Parse(proxy);
    if (!network) return std::move(network).error().Context("proxies");
    networks.push_back(*network);
  }
  return std::unique_ptr<HeaderResolver>(
      new HeaderResolver(options.headers, std::move(networks), options.isolation));
}

asio::awaitable<Result<std::optional<Identity>>> HeaderResolver::Read(RequestOrigin request) const {
  co_return FromHeaders(request);
}

Result<std::optional<Identity>> HeaderResolver::FromHeaders(const RequestOrigin& request) const {
  const bool from_proxy =
      request.peer && std::ranges::any_of(proxies_, [&](const Network& network) {
        return network.Contains(*request.peer);
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
