// Reads workflows from files, and runs them on a Host.
//
//   [[workflow]]  name = "report"  file = "report.toml"      # or .json; relative to caisson.toml
//
// Trust     The operator's files. Mistakes are reported, all of them, with file and line.
// Threads   Reading blocks. A WorkflowHost can be used from any strand.
// Lifetime  The Host outlives its WorkflowHost.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "checkpoint/sealed_checkpoints.h"
#include "config/config.h"
#include "server/host.h"
#include "workflow/agent_steps.h"
#include "workflow/combined_turns.h"
#include "workflow/declaration.h"
#include "workflow/run_steps.h"
#include "workflow/workflow_service.h"
#include "workflow/workflow_turns.h"

namespace caisson {

using Workflows = std::vector<std::shared_ptr<const Workflow>>;

// Reads one file: .json is JSON, everything else TOML. A step of kind "workflow" finds those in
// `known`. Fails with kNotFound or kInvalidArgument.
Result<std::shared_ptr<const Workflow>> LoadWorkflow(const std::string& path,
                                                     const Workflows& known = {});

// Reads the [[workflow]] tables, in order. A workflow can use those before it.
Result<Workflows> LoadWorkflows(const Config& config);

class WorkflowHost {
 public:
  WorkflowHost(Host& host, Workflows workflows);
  WorkflowHost(const WorkflowHost&) = delete;
  WorkflowHost& operator=(const WorkflowHost&) = delete;

  WorkflowService& service() { return service_; }
  // Reaches the workflows and the agents of the host by name.
  TurnService& turns() { return all_; }
  // Returns when no turn of a workflow runs. Close the host first, which ends their steps.
  asio::awaitable<void> AwaitEnd() { return turns_.Close(); }

 private:
  SealedCheckpoints checkpoints_;
  RunSteps run_steps_;
  AgentSteps steps_;
  WorkflowService service_;
  WorkflowTurns turns_;
  CombinedTurns all_;
};

}  // namespace caisson
