// Reads the answers to interrupts, and checks them against the open ones. Every open interrupt
// needs an answer.
//
//   [{"interruptId": "apr_1", "status": "resolved",
//     "payload": {"approved": true, "editedArgs": {"amount": 50, "to": "bob"}}}]
//
// `editedArgs` are all arguments. `arguments`, and names beside `approved`, are those that change.
// `accepted` is another name of `approved`. A cancelled answer executes nothing of the turn.
//
// Trust     Answers are hostile. Whether the tool accepts the changes is checked where the decision
//           is stored (approval/edit.h).
// Threads   Pure functions.
// Lifetime  Values.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "agent/turn.h"
#include "base/clock.h"
#include "protocol/agui/thread.h"
#include "wire/value.h"

namespace caisson::agui {

// The codes of RUN_ERROR that clients know.
inline constexpr std::string_view kResumeRequired = "APPROVAL_RESUME_REQUIRED";
inline constexpr std::string_view kResumeInvalid = "APPROVAL_RESUME_INVALID";
inline constexpr std::string_view kResumeNotFound = "APPROVAL_RESUME_NOT_FOUND";
inline constexpr std::string_view kResumeMissing = "APPROVAL_RESUME_MISSING_INTERRUPT";
inline constexpr std::string_view kResumeInvalidResponse = "APPROVAL_RESUME_INVALID_RESPONSE";

struct ResumeRefusal {
  std::string_view code;
  std::string message;
};
struct ResumeCancelled {};
using ResumeAnswers = std::vector<ApprovalAnswer>;
using ResumeVerdict = std::variant<ResumeAnswers, ResumeCancelled, ResumeRefusal>;

// `resume` as it came. Interrupts are open from `open`; those past their time are not.
ResumeVerdict JudgeResume(const Value& resume, const std::vector<OpenInterrupt>& open,
                          SystemTime now);

// The JSON Schema of an answer to a call with these arguments.
Dict ResponseSchema(const Dict& arguments);

}  // namespace caisson::agui
