// Reads workflows from files, and runs them on a Host.
//
//   [[workflow]]  name = "report"  file = "report.toml"      # or .json; relative to caisson.toml
//
// Trust     The operator's files. Mistakes are reported, all of them, with file and line.
// Threads   Reading blocks. A WorkflowHost can be used from any thread.
// Lifetime  The Host outlives its WorkflowHost.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "checkpoint/sealed_checkpoints.h"
#include "config/config.h"
#include "server/host.h"
#include "workflow/declaration.h"
#include "workflow/run_steps.h"
#include "workflow/workflow_service.h"

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

 private:
  SealedCheckpoints checkpoints_;
  RunSteps steps_;
  WorkflowService service_;
};

}  // namespace caisson
