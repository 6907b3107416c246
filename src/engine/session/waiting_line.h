// AwaitPlace is how a coroutine waits in the line of Admission.
//
// Trust     See Admission.
// Threads   Any; a coroutine that waits resumes on its own executor.
// Lifetime  The lane outlives the wait.
#pragma once

#include "base/result.h"
#include "engine/engine.h"
#include "engine/session/admission.h"
#include "engine/session/engine_lane.h"

namespace caisson {

// Joins the line and returns when it is this caller's turn; `home`, one of the engine's lanes, looks
// after the wait. Errors as Engine::Open has them.
asio::awaitable<Result<Admission::Place>> AwaitPlace(EngineLane& home, OpenOptions options);

}  // namespace caisson
