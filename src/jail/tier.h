// A tier is a boundary that a caller can request by name. Walls are the parts of a tier.
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
  kNone,       // A plain child process: walls go up where possible, and none is guaranteed.
};

std::string_view ToString(Tier tier);

// Parses "namespace", "landlock" or "none". Any other name is an error, never a default.
Result<Tier> ParseTier(std::string_view name);

// The state of one wall after Enter(). A wall that the tier requires is never reported as down,
// because Enter() fails instead (I12). Walls that are down appear in `boundary.missing` of every
// outcome.
struct Wall {
  std::string name;
  bool up = false;
  std::string why_not;  // Empty if it is up.
  std::string fix;      // The setting that would raise it; empty if it is up or if there is none.
};

using Walls = std::vector<Wall>;

}  // namespace caisson::jail
