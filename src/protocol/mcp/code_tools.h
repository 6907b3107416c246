// The tools that run code: execute_code, and wait_for_run for runs that wait for somebody.
//
// Trust     Code, names and limits are a model's. It can lower limits and raise them to the ceiling, and name
//           sessions and runs of its own owner; whatever belongs to another is not there (I4).
// Threads   As UseHandler.
// Lifetime  The service and the dialogue outlive the tools.
#pragma once

#include <vector>

#include "runs/run_service.h"
#include "runs/setting_source.h"
#include "protocol/mcp/approval_dialogue.h"
#include "protocol/mcp/features.h"

namespace caisson::mcp {

// `setting` is the service's own: its tools are described, its limits are where a request's begin.
std::vector<ToolFeature> MakeCodeTools(RunService& runs, const ApprovalDialogue& approvals,
                                       SettingSource setting);

}  // namespace caisson::mcp
