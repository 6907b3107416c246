// Probe tells which walls this machine has, why others are missing, and which setting would change
// that.
//
// Trust     Tries each wall instead of reading settings, because settings do not show what a
//           container or a security module will refuse. Each try happens in its own child; this
//           process is not changed.
// Threads   Any; takes a few milliseconds. Do not call it on the path of a run.
// Lifetime  A value, valid for this process at this moment.
#pragma once

#include <string>
#include <vector>

#include "jail/tier.h"

namespace caisson::jail {

struct Feature {
  std::string name;
  bool available = false;
  std::string detail;  // A version, or the reason why it is missing.
  std::string fix;  // The setting that would make it available; empty if none is known or needed.
};

struct TierVerdict {
  Tier tier = Tier::kNone;
  bool available = false;
  std::string why_not;  // Names the missing features.
};

struct Report {
  std::string kernel;  // "6.1.0-13-amd64"
  std::vector<Feature> features;
  std::vector<TierVerdict> tiers;  // Strongest first.
  // kNone: no other tier is available. It must still be requested by name.
  Tier best = Tier::kNone;

  const Feature* Find(std::string_view name) const;
};

Report Probe();

}  // namespace caisson::jail
