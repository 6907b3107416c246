// The ids of stored objects. Unique within one owner and chosen by the creator.
//
// Trust     Ids may come from clients: an id does not prove that its object exists.
// Threads   Values.
// Lifetime  Values.
#pragma once

#include "base/strong_id.h"

namespace caisson {

using RunId = StrongId<struct RunTag>;
using ApprovalId = StrongId<struct ApprovalTag>;
using GrantId = StrongId<struct GrantTag>;
using SessionId = StrongId<struct SessionTag>;    // Random; unique.
using InstanceId = StrongId<struct InstanceTag>;  // Identifies a workflow instance.
using CheckpointId = StrongId<struct CheckpointTag>;
using ResponseId = StrongId<struct ResponseTag>;
using ConversationId = StrongId<struct ConversationTag>;
using DocumentId = StrongId<struct DocumentTag>;
using IdempotencyKey = StrongId<struct IdempotencyTag>;

}  // namespace caisson
