#include "server/foundry.h"

#include <charconv>
#include <cstdint>
#include <string>

namespace caisson {
namespace {

constexpr std::uint16_t kUsualPort = 8088;
constexpr const char* kCallId = "x-agent-foundry-call-id";

std::string Variable(const EnvironmentMap& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

bool IsHosted(const EnvironmentMap& environment) {
  return !Variable(environment, "FOUNDRY_HOSTING_ENVIRONMENT").empty();
}

Result<std::uint16_t> PortOf(const EnvironmentMap& environment) {
  const std::string text = Variable(environment, "PORT");
  if (text.empty()) return kUsualPort;
  std::uint16_t port = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (failed == std::errc() && end == text.data() + text.size() && port != 0) return port;
  return Error(
      ErrorCode::kInvalidArgument,
      "the environment variable PORT must be a number from 1 to 65535; got \"" + text + "\"");
}

}  // namespace

Result<void> ApplyFoundry(Config& config, const EnvironmentMap& environment) {
  if (!config.server.foundry) return {};
  if (IsHosted(environment) && config.identity.mode != IdentityMode::kHeaders) {
    return Error(ErrorCode::kFailedPrecondition,
                 "FOUNDRY_HOSTING_ENVIRONMENT is set, so requests come from the platform, but "
                 "identity.mode is not \"headers\"; use mode = \"headers\" with preset = "
                 "\"foundry-v2\" and the platform's addresses in proxies");
  }
  if (IsHosted(environment) && config.identity.strict_isolation == false) {
    return Error(ErrorCode::kFailedPrecondition,
                 "FOUNDRY_HOSTING_ENVIRONMENT is set, but identity.strict_isolation is false; "
                 "requests without a user must be refused");
  }
  if (config.server.is_listen_given) return {};
  TRY_ASSIGN(const std::uint16_t port, PortOf(environment));
  const bool is_local = config.identity.mode == IdentityMode::kLocal;
  config.server.listen = (is_local ? "127.0.0.1:" : "0.0.0.0:") + std::to_string(port);
  return {};
}

responses::ResponsesOptions ResponsesOptionsOf(const Config& config,
                                               const EnvironmentMap& environment) {
  responses::ResponsesOptions options;
  if (!config.server.foundry) return options;
  if (IsHosted(environment)) options.required_header = kCallId;
  options.session = Variable(environment, "FOUNDRY_AGENT_SESSION_ID");
  const std::string name = Variable(environment, "FOUNDRY_AGENT_NAME");
  const std::string version = Variable(environment, "FOUNDRY_AGENT_VERSION");
  if (!name.empty()) options.server_name = name + (version.empty() ? "" : "/" + version);
  return options;
}

}  // namespace caisson
