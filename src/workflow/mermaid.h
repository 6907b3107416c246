// Draws a workflow as a Mermaid flow chart, which Markdown viewers show.
//
// Trust     Names are checked (workflow_checks.h). Other texts are escaped.
// Threads   Pure functions.
// Lifetime  Keeps nothing.
#pragma once

#include <string>

#include "workflow/graph.h"

namespace caisson {

std::string ToMermaid(const Workflow& workflow);

}  // namespace caisson
