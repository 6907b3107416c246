// All of libcaisson that a program needs: open a Host, give it tools, run code; or hand an agent an
// execute_code of its own with a CodeActProvider.
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
