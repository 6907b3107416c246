// A Policy says what code may contain: a preset, and the operator's changes to its lists.
//
// Trust     Comes from the operator's configuration. It gives the author of code fast, clear
//           feedback; it is never the boundary.
// Threads   A value.
// Lifetime  A value.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "wire/value.h"

namespace caisson {

enum class PolicyPreset {
  kStrict,  // The lists of policy/lists.h, changed as below.
  kOpen,    // No check: only the boundary protects the host.
};

// Changes to one list of the preset. A name that is both allowed and blocked is blocked.
struct PolicyChanges {
  std::optional<std::vector<std::string>> instead{};  // Replaces the preset's list.
  std::vector<std::string> allow{};                   // Added to the list.
  std::vector<std::string> block{};                   // Always refused.
  bool operator==(const PolicyChanges&) const = default;
};

struct Policy {
  PolicyPreset preset = PolicyPreset::kStrict;
  PolicyChanges imports{};   // "json", "xml.dom", or one member: "asyncio.create_subprocess_exec".
  PolicyChanges builtins{};  // "print"
  PolicyChanges os_attributes{};  // "environ" of os.environ
  PolicyChanges attributes{};  // "__mro__"; names without underscores are allowed unless blocked.
  PolicyChanges nodes{};       // "ClassDef"
  bool operator==(const Policy&) const = default;
};

// Encodes the request's "policy" (guest/abi.h): one number unless lists were changed.
Value EncodePolicy(const Policy& policy);

// Returns the names that are both allowed and blocked, as "imports: json". They are blocked, and
// the operator should know.
std::vector<std::string> PolicyConflicts(const Policy& policy);

// Returns the description that a model gets before it writes code: a few lines of plain text.
// `packages`: the importable packages beyond the standard library.
std::string DescribePolicy(const Policy& policy, const std::vector<std::string>& packages = {});

}  // namespace caisson
