// Reads a history: what the model is shown of it, and which of its calls still wait.
//
// A call stays where the model made it. A later item with the same run has its result: the call
// waited, and a later turn took the result. The model sees each call once, with its newest result
// directly after it.
//
// Trust     Histories may be a client's word. A call in it never starts anything.
// Threads   Pure functions.
// Lifetime  Values.
#pragma once

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "agent/turn.h"
#include "model/conversation.h"

namespace caisson {

// Items of several turns, in order. None is null.
using ItemRefs = std::vector<const TurnItem*>;

// Returns the items for a request to the model. A call without a result has a text in its place
// that says so. Message and reasoning items that were cut are left out if the model has replied
// again in the same turn.
std::vector<model::Item> ToModelItems(const ItemRefs& items);

// Returns the CodeCalls and ToolCalls that wait and have no later result.
std::vector<TurnItem> WaitingCalls(const ItemRefs& items);

struct KnownApprovals {
  std::set<ApprovalId> asked;
  std::set<ApprovalId> answered;
};
KnownApprovals ApprovalsIn(std::span<const TurnItem> items);

// The index of the first item after everything that an assistant has done. Answers before it belong
// to the past and are without effect.
std::size_t BeginOfNews(std::span<const TurnItem> input);

}  // namespace caisson
