// Tiers are the boundaries a caller can ask for by name; walls are what each is made of.
//
// Trust     Pure values. A tier parsed from a request is checked against the operator's choice
//           elsewhere.
// Threads   Any.
// Lifetime  Values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace caisson::jail {

enum class Tier {
  kNamespace,  // Own user, mount, pid, net, ipc, uts and cgroup namespaces, and all of kLandlock.
  kLandlock,   // Landlock, seccomp, rlimits, no capability. For machines without user namespaces.
  kNone,       // A plain child process: walls go up where they can, and none is promised.
};

std::string_view ToString(Tier tier);

// The names: "namespace", "landlock", "none". Anything else is an error, never a
// default.
Result<Tier> ParseTier(std::string_view name);

// One wall as Enter() left it. A wall that the tier requires is never reported down: Enter() fails
// instead (I12). What is down here goes to `boundary.missing` of every outcome.
struct Wall {
  std::string name;
  bool up = false;
  std::string why_not;  // Empty when up.
  std::string fix;      // The setting that would raise it; empty when up or when there is none.
};

using Walls = std::vector<Wall>;

}  // namespace caisson::jail
