// Secrets are fetched from where the configuration says they are.
//
// Trust     The operator's references. What is fetched is not for logs, messages or children.
// Threads   At start-up; files are read.
// Lifetime  Nothing is kept.
#pragma once

#include <string>

#include "base/result.h"
#include "caller/caller_context.h"
#include "config/config.h"

namespace caisson {

// Relative files are relative to `directory`; line ends at the end are not part of the secret.
Result<std::string> FetchSecret(const SecretReference& secret, const std::string& directory,
                                const EnvironmentMap& environment);

// A file beside the configuration, whole.
Result<std::string> ReadBeside(const std::string& directory, const std::string& file);

}  // namespace caisson
