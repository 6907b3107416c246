#include "tools/approval.h"

namespace caisson {

bool Approval::IsNeeded(const Dict& arguments) const {
  switch (mode_) {
    case Mode::kNever:
      return false;
    case Mode::kAlways:
      return true;
    case Mode::kWhen:
      return rule_->Fits(arguments).value_or(true);
    case Mode::kUnless:
      return !rule_->Fits(arguments).value_or(false);
  }
  return true;
}

}  // namespace caisson
