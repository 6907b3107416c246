// A Policy says what code may contain: a preset, and what an operator changed in its lists.
//
// Trust     Comes from the operator's configuration. It gives the author of code fast, clear feedback;
//           it is never the boundary.
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
  kOpen,    // No check: the boundary alone holds.
};

// What is changed in one list of the preset. A name that is both allowed and blocked is blocked.
struct PolicyChanges {
  std::optional<std::vector<std::string>> instead{};  // Replaces what the preset allows.
  std::vector<std::string> allow{};                   // Allowed besides.
  std::vector<std::string> block{};                   // Refused in any case.
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

// The request's "policy" (guest/abi.h): one number unless lists were changed.
Value EncodePolicy(const Policy& policy);

// Names that are allowed and blocked at once, as "imports: json"; they are blocked, and the operator
// wants to know.
std::vector<std::string> PolicyConflicts(const Policy& policy);

// What a model is told before it writes code: a few lines of plain text.
// `packages` are those beyond the standard library that are there to be imported.
std::string DescribePolicy(const Policy& policy, const std::vector<std::string>& packages = {});

}  // namespace caisson
