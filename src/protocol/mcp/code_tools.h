// The tools that run code: execute_code, and wait_for_run for runs that wait for a decision.
//
// Trust     Code, names and limits come from a model. It can lower limits, raise them to the
//           maximum, and name sessions and runs of its own owner. Those of other owners are not
//           found (I4).
// Threads   Same as UseHandler.
// Lifetime  The service and the dialogue outlive the tools.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <optional>
#include <vector>

#include "protocol/mcp/approval_dialogue.h"
#include "protocol/mcp/features.h"
#include "runs/run_service.h"
#include "runs/setting_source.h"

namespace caisson::mcp {

// `setting` is that of the service: its tools are described, and its limits are the defaults of a
// request.
// Large results are made in `cpu_pool`; without it, on the executor of their exchange.
std::vector<ToolFeature> MakeCodeTools(RunService& runs, const ApprovalDialogue& approvals,
                                       SettingSource setting,
                                       std::optional<asio::any_io_executor> cpu_pool = {});

}  // namespace caisson::mcp
