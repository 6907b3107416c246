// Writes the result of a run into the call that started it, as the model reads it.
//
// Trust     Outcomes are hostile content; they are bounded by the limits of the run.
// Threads   Pure functions.
// Lifetime  Values.
#pragma once

#include "agent/turn.h"
#include "base/error.h"
#include "runs/run_service.h"

namespace caisson {

// The run has ended or waits.
void Fill(CodeCall& call, const RunView& run);
void Fill(HostToolCall& call, const RunView& run);
// The call could not be made.
void Fill(CodeCall& call, const Error& why);
void Fill(HostToolCall& call, const Error& why);

// The CodeCall or HostToolCall of an item; null for other items.
CodeCall* CodeOf(TurnItem& item);
HostToolCall* ToolOf(TurnItem& item);
bool IsCall(const TurnItem& item);
// The following need IsCall(item).
CallProgress ProgressOf(const TurnItem& item);
const RunId& RunOf(const TurnItem& item);
void SetRun(TurnItem& item, RunId run);
void Fill(TurnItem& item, const RunView& run);
void Fill(TurnItem& item, const Error& why);
// The call ended without a result of its own.
void Fail(TurnItem& item, std::string why);
// Whether it failed, and not because a person said no.
bool IsFailure(const TurnItem& item);

}  // namespace caisson
