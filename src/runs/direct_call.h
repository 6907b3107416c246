// Converts a direct call between its form in a run and its form in the store.
//
// Trust     Stored bytes are checked. Arguments are hostile content.
// Threads   Pure functions.
// Lifetime  Values.
#pragma once

#include "base/result.h"
#include "runs/cells/direct_cell.h"
#include "runs/journal/records.h"

namespace caisson {

// Fails with kInvalidArgument if the arguments are nested too deeply.
Result<RecordedDirectCall> ToRecord(const DirectCall& call);
Result<DirectCall> FromRecord(const RecordedDirectCall& record);

}  // namespace caisson
