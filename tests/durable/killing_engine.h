// A KillingEngine is an engine whose cells pass the steps "save:before", "save:after" and
// "restore:after" (windows.h). In "restore:during" the worker that is started for the restored cell
// is killed.
//
// Trust     For tests.
// Threads   As Engine.
// Lifetime  Owns the wrapped engine.
#pragma once

#include <memory>

#include "engine/engine.h"

namespace caisson::testing {

std::unique_ptr<Engine> MakeKillingEngine(std::unique_ptr<Engine> engine);

}  // namespace caisson::testing
