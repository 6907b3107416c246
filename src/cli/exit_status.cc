#include "cli/exit_status.h"

namespace caisson::cli {

int ExitStatus(RunStatus status) {
  switch (status) {
    case RunStatus::kCompleted:
      return kExitCompleted;
    case RunStatus::kWaiting:
      return kExitWaiting;
    case RunStatus::kFailed:
    case RunStatus::kRejected:
    case RunStatus::kLimit:
    case RunStatus::kCancelled:
      return kExitCodeFailed;
  }
  return kExitOurFault;
}

int ExitStatus(ErrorCode code) {
  switch (code) {
    // The user can fix it: the command, a file, or a setting of the machine.
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kNotFound:
    case ErrorCode::kUnauthenticated:
    case ErrorCode::kPermissionDenied:
    case ErrorCode::kFailedPrecondition:
      return kExitUsage;
    case ErrorCode::kUnavailable:
    case ErrorCode::kNoSpace:
    case ErrorCode::kResourceExhausted:
    case ErrorCode::kDeadlineExceeded:
    case ErrorCode::kCancelled:
    case ErrorCode::kInternal:
      return kExitOurFault;
  }
  return kExitOurFault;
}

}  // namespace caisson::cli
