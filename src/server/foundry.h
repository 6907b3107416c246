// Foundry hosts an agent as a container and tells it so in environment variables: PORT,
// FOUNDRY_HOSTING_ENVIRONMENT, FOUNDRY_AGENT_NAME, FOUNDRY_AGENT_SESSION_ID.
//
// Foundry's platform is the only client of such a server. It names the user of each request in
// x-agent-user-id, and the request in x-agent-foundry-call-id.
//
// Trust     The environment is the platform's. Requests count only from private networks and with
//           both headers: a server that cannot tell its users apart answers nobody.
// Threads   Pure functions.
// Lifetime  Values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "caller/caller_context.h"
#include "config/config.h"

namespace caisson {

inline constexpr std::uint16_t kFoundryPort = 8088;

struct FoundryHosting {
  std::uint16_t port = kFoundryPort;
  std::string agent{};    // The agent that answers requests without `model`; may be empty.
  std::string session{};  // The platform's session; may be empty.
};

// nullopt: Foundry does not host this process. Fails with kInvalidArgument if a variable has a
// value that it cannot have.
Result<std::optional<FoundryHosting>> ReadFoundryHosting(const EnvironmentMap& environment);

// Makes `config` serve Foundry: it listens on all addresses, unless the operator chose one, and
// takes the identity from the platform's headers, unless the operator chose another mode. Fails
// with kInvalidArgument if the configuration allows requests without identity.
Result<void> ServeFoundry(const FoundryHosting& hosting, Config& config);

// The header that every request of the platform has.
inline constexpr const char* kFoundryCallHeader = "x-agent-foundry-call-id";

}  // namespace caisson
