// Mode `headers`: an authenticating proxy names the caller in headers.
//
// Trust     Headers count only if they come from the address of a configured proxy. All other
//           requests are refused.
// Threads   Same as IdentityResolver.
// Lifetime  Same as IdentityResolver.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/network.h"
#include "identity/resolver.h"

namespace caisson {

struct IdentityHeaders {
  std::optional<std::string> tenant{};
  std::string user;
  std::optional<std::string> chat{};

  static IdentityHeaders FoundryV1() {
    return {.user = "x-agent-user-isolation-key", .chat = "x-agent-chat-isolation-key"};
  }
  static IdentityHeaders FoundryV2() { return {.user = "x-agent-user-id"}; }
};

class HeaderResolver final : public IdentityResolver {
 public:
  struct Options {
    // A request must have all of the headers named here, or none.
    IdentityHeaders headers;
    std::vector<std::string> proxies{};  // "10.0.0.7", "10.1.0.0/16", "fd00::/8".
    Isolation isolation = Isolation::kRequired;
  };
  // Fails with kInvalidArgument if there is no proxy, or one of them is not an address.
  static Result<std::unique_ptr<HeaderResolver>> Create(const Options& options);

 private:
  HeaderResolver(IdentityHeaders headers, std::vector<Network> proxies, Isolation isolation)
      : IdentityResolver(isolation), headers_(std::move(headers)), proxies_(std::move(proxies)) {}
  asio::awaitable<Result<std::optional<Identity>>> Read(RequestOrigin request) const override;
  Result<std::optional<Identity>> FromHeaders(const RequestOrigin& request) const;

  const IdentityHeaders headers_;
  const std::vector<Network> proxies_;
};

}  // namespace caisson
