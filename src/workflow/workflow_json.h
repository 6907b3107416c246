// Shows the state of a workflow instance as JSON; the command line prints it.
//
// Trust     Messages, outputs and errors are hostile content.
// Threads   Pure functions.
// Lifetime  Values.
#pragma once

#include "wire/value.h"
#include "workflow/workflow_service.h"

namespace caisson {

Dict ToDict(const WorkflowView& view);

}  // namespace caisson
