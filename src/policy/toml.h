// Policies as they are written in configuration files: the table [policy], or a file of its own.
//
//   preset = "strict"                  # or "open", which has no lists
//   imports = ["json", "math"]         # replaces what the preset allows; also builtins,
//   allow_imports = ["sys"]            # os_attributes, attributes, nodes
//   block_imports = ["random"]         # has the last word
//
// Trust     The operator's own files; mistakes in them are errors with the key and what is wrong.
// Threads   Any.
// Lifetime  Nothing is kept.
#pragma once

#include <toml++/toml.h>

#include <string_view>

#include "base/result.h"
#include "policy/policy.h"

namespace caisson {

Result<Policy> ParsePolicy(const toml::table& table);

// The content of a policy file: the keys of the table, at top level or in [policy].
Result<Policy> ParsePolicyText(std::string_view text);

}  // namespace caisson
