// Includes everything that a program needs from libcaisson. Open a Host, give it tools and run
// code; or give an agent its own execute_code with a CodeActProvider.
//
// Trust     See the headers below.
// Threads   See the headers below.
// Lifetime  See the headers below.
#pragma once

#include "agent/outcome_contents.h"  // IWYU pragma: export
#include "agent/provider.h"          // IWYU pragma: export
#include "runs/cells/code_runner.h"  // IWYU pragma: export
#include "server/host.h"             // IWYU pragma: export
#include "server/version.h"          // IWYU pragma: export
#include "tools/registry.h"          // IWYU pragma: export
#include "tools/tool.h"              // IWYU pragma: export
#include "wire/json.h"               // IWYU pragma: export
