#include "store/approvals.h"
#include "store/runs.h"

namespace caisson {

std::string_view ToString(RunState state) {
  switch (state) {
    case RunState::kRunning:
      return "running";
    case RunState::kWaiting:
      return "waiting";
    case RunState::kFinished:
      return "finished";
  }
  return "";
}

std::string_view ToString(CallState state) {
  switch (state) {
    case CallState::kPending:
      return "pending";
    case CallState::kStarted:
      return "started";
    case CallState::kReturned:
      return "returned";
    case CallState::kRaised:
      return "raised";
    case CallState::kDenied:
      return "denied";
    case CallState::kUncertain:
      return "uncertain";
  }
  return "";
}

std::string_view ToString(ApprovalState state) {
  switch (state) {
    case ApprovalState::kPending:
      return "pending";
    case ApprovalState::kApproved:
      return "approved";
    case ApprovalState::kDenied:
      return "denied";
    case ApprovalState::kExpired:
      return "expired";
    case ApprovalState::kCancelled:
      return "cancelled";
    case ApprovalState::kConsumed:
      return "consumed";
  }
  return "";
}

}  // namespace caisson
