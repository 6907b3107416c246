// Fetches secrets from the places that the configuration names.
//
// Trust     References come from the operator. Secrets must not reach logs, messages or child
//           processes.
// Threads   Call at start-up. Reads files.
// Lifetime  Keeps nothing.
#pragma once

#include <string>

#include "base/result.h"
#include "caller/caller_context.h"
#include "config/config.h"

namespace caisson {

// Relative files are relative to `directory`. Line ends at the end of a file are not part of the
// secret.
Result<std::string> FetchSecret(const SecretReference& secret, const std::string& directory,
                                const EnvironmentMap& environment);

// Returns the whole content of a file beside the configuration.
Result<std::string> ReadBeside(const std::string& directory, const std::string& file);

}  // namespace caisson
