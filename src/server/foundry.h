// The container contract of Foundry's hosted agents: `[server] foundry = true`.
//
//   PORT                            the port to listen on, on all addresses; default 8088
//   FOUNDRY_HOSTING_ENVIRONMENT     not empty: the platform runs this container
//   FOUNDRY_AGENT_NAME, FOUNDRY_AGENT_VERSION, FOUNDRY_AGENT_SESSION_ID
//
// Trust     The environment is the platform's. Headers are trusted as [identity] says.
// Threads   Pure functions. Call them at start-up.
// Lifetime  Keep nothing.
#pragma once

#include "base/result.h"
#include "caller/caller_context.h"
#include "config/config.h"
#include "protocol/responses/door.h"

namespace caisson {

// Sets the address of the server. Fails with kInvalidArgument if a variable is wrong, and with
// kFailedPrecondition if the platform runs this container and the configuration would serve
// requests without an identity (I12). Does nothing without `[server] foundry`.
Result<void> ApplyFoundry(Config& config, const EnvironmentMap& environment);

// Returns the options of the Responses API.
responses::ResponsesOptions ResponsesOptionsOf(const Config& config,
                                               const EnvironmentMap& environment);

}  // namespace caisson
