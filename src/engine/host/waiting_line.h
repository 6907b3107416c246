// AwaitPlace lets a coroutine wait in the line of Admission.
//
// Trust     See Admission.
// Threads   Any. A coroutine that waits resumes on its own executor.
// Lifetime  The lane outlives the wait.
#pragma once

#include "base/result.h"
#include "engine/engine.h"
#include "engine/host/admission.h"
#include "engine/host/engine_lane.h"

namespace caisson {

// Joins the line and returns when it is this caller's turn. `home`, one of the engine's lanes, runs
// the timer of the wait. Fails as Engine::Open does.
asio::awaitable<Result<Admission::Place>> AwaitPlace(EngineLane& home, OpenOptions options);

}  // namespace caisson
