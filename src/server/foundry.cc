#include "server/foundry.h"

#include <charconv>
#include <utility>

#include "identity/header_resolver.h"

namespace caisson {
namespace {

constexpr std::size_t kMaxNameBytes = 128;

// Loopback, and the networks that containers have (RFC 1918, RFC 6598, RFC 4193, link-local).
constexpr const char* kPrivateNetworks[] = {
    "127.0.0.0/8",    "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10",
    "169.254.0.0/16", "::1",        "fc00::/7",      "fe80::/10"};

std::string ValueOf(const EnvironmentMap& environment, std::string_view name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

Result<std::uint16_t> ReadPort(const std::string& text) {
  std::uint16_t port = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (failed == std::errc() && end == text.data() + text.size() && port != 0) return port;
  return Error(ErrorCode::kInvalidArgument,
               "the environment variable PORT is \"" + text + "\"; it must be 1 to 65535");
}

// Ids and names become headers and parts of stored ids.
Result<std::string> ReadName(const EnvironmentMap& environment, const std::string& variable) {
  std::string name = ValueOf(environment, variable);
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  if (name.size() <= kMaxNameBytes && name.find_first_not_of(kAllowed) == name.npos) return name;
  return Error(ErrorCode::kInvalidArgument, "the environment variable " + variable +
                                                " must have at most 128 letters, digits, \"_\" "
                                                "and \"-\"");
}

}  // namespace

Result<std::optional<FoundryHosting>> ReadFoundryHosting(const EnvironmentMap& environment) {
  if (ValueOf(environment, "FOUNDRY_HOSTING_ENVIRONMENT").empty()) {
    return std::optional<FoundryHosting>();
  }
  FoundryHosting hosting;
  if (const std::string port = ValueOf(environment, "PORT"); !port.empty()) {
    TRY_ASSIGN(hosting.port, ReadPort(port));
  }
  TRY_ASSIGN(hosting.agent, ReadName(environment, "FOUNDRY_AGENT_NAME"));
  TRY_ASSIGN(hosting.session, ReadName(environment, "FOUNDRY_AGENT_SESSION_ID"));
  return std::optional(std::move(hosting));
}

Result<void> ServeFoundry(const FoundryHosting& hosting, Config& config) {
  IdentityConfig& identity = config.identity;
  if (!identity.strict_isolation.value_or(true)) {
    return Error(ErrorCode::kInvalidArgument,
                 "identity.strict_isolation = false is not possible when Foundry hosts the server: "
                 "requests without identity would share their data; remove the setting");
  }
  if (config.server.listen == ServerConfig().listen) {
    config.server.listen = "0.0.0.0:" + std::to_string(hosting.port);
  }
  if (identity.mode != IdentityMode::kLocal) return {};
  identity.mode = IdentityMode::kHeaders;
  identity.headers = {.proxies = {std::begin(kPrivateNetworks), std::end(kPrivateNetworks)},
                      .user = IdentityHeaders::FoundryV2().user};
  return {};
}

}  // namespace caisson
