// Reads policies from configuration files: the table [policy], or a separate file.
//
//   preset = "strict"                  # or "open", which has no lists
//   imports = ["json", "math"]         # replaces what the preset allows; also builtins,
//   allow_imports = ["sys"]            # os_attributes, attributes, nodes
//   block_imports = ["random"]         # takes precedence
//
// Trust     The operator's own files; mistakes are errors with the key and the reason.
// Threads   Any.
// Lifetime  Keeps nothing.
#pragma once

#include <toml++/toml.h>

#include <string_view>

#include "base/result.h"
#include "policy/policy.h"

namespace caisson {

Result<Policy> ParsePolicy(const toml::table& table);

// Parses a policy file: the keys of the table, at top level or in [policy].
Result<Policy> ParsePolicyText(std::string_view text);

}  // namespace caisson
