// MakeIdentityResolver makes the resolver of a configuration: keys hashed, tokens' keys parsed, proxies' addresses read.
//
// Trust     The operator's configuration. Keys are fetched here and kept as digests.
// Threads   At start-up.
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
