// MakeIdentityResolver makes the identity resolver of a configuration. It hashes API keys, and
// parses the keys of tokens and the addresses of proxies.
//
// Trust     The operator's configuration. API keys are fetched here and kept as digests.
// Threads   Call at start-up.
// Lifetime  The clock outlives the resolver.
#pragma once

#include <memory>

#include "base/clock.h"
#include "base/result.h"
#include "caller/caller_context.h"
#include "config/config.h"
#include "identity/resolver.h"

namespace caisson {

Result<std::unique_ptr<IdentityResolver>> MakeIdentityResolver(const IdentityConfig& config,
                                                               const std::string& directory,
                                                               const EnvironmentMap& environment,
                                                               const Clock& clock);

}  // namespace caisson
