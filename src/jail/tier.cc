#include "jail/tier.h"

namespace caisson::jail {

std::string_view ToString(Tier tier) {
  switch (tier) {
    case Tier::kNamespace:
      return "namespace";
    case Tier::kLandlock:
      return "landlock";
    case Tier::kNone:
      return "none";
  }
  return "unknown";
}

Result<Tier> ParseTier(std::string_view name) {
  for (Tier tier : {Tier::kNamespace, Tier::kLandlock, Tier::kNone}) {
    if (name == ToString(tier)) return tier;
  }
  return Error(ErrorCode::kInvalidArgument,
               "unknown tier '" + std::string(name) + "': namespace, landlock or none");
}

}  // namespace caisson::jail
