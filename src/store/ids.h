// The names stored things have. Unique within one owner, chosen by whoever makes the thing.
#pragma once

#include "base/strong_id.h"

namespace caisson {

using RunId = StrongId<struct RunTag>;
using ApprovalId = StrongId<struct ApprovalTag>;
using GrantId = StrongId<struct GrantTag>;
using SessionId = StrongId<struct SessionTag>;    // Random; no two sessions have the same.
using InstanceId = StrongId<struct InstanceTag>;  // Of a workflow.
using CheckpointId = StrongId<struct CheckpointTag>;
using ResponseId = StrongId<struct ResponseTag>;
using ConversationId = StrongId<struct ConversationTag>;
using DocumentId = StrongId<struct DocumentTag>;
using IdempotencyKey = StrongId<struct IdempotencyTag>;

}  // namespace caisson
