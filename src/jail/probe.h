// Probe tells which walls this machine has, why not the others, and what would change that.
//
// Trust     Tries rather than believes: settings lie about what a container or a security module
//           will refuse. Each try happens in a child of its own; this process is not changed.
// Threads   Any; takes a few milliseconds. Not on the path of a run.
// Lifetime  A value, true for this process at this moment.
#pragma once

#include <string>
#include <vector>

#include "jail/tier.h"

namespace caisson::jail {

struct Feature {
  std::string name;
  bool available = false;
  std::string detail;  // A version, or the reason why not.
  std::string fix;  // The setting that would make it available; empty if none is known or needed.
};

struct TierVerdict {
  Tier tier = Tier::kNone;
  bool available = false;
  std::string why_not;  // Names the features that are missing.
};

struct Report {
  std::string kernel;  // "6.1.0-13-amd64"
  std::vector<Feature> features;
  std::vector<TierVerdict> tiers;  // Strongest first.
  Tier best = Tier::kNone;  // kNone: neither of the others; it still has to be asked for by name.

  const Feature* Find(std::string_view name) const;
};

Report Probe();

}  // namespace caisson::jail
