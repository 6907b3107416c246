// A TurnRecord is a turn as it is stored: its view, and what another replica needs to continue it.
//
// Trust     Decode reads data of the store and refuses data that is not valid.
// Threads   Values.
// Lifetime  Values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/turn.h"
#include "base/result.h"
#include "caller/caller_context.h"

namespace caisson {

// How far a turn has come.
struct TurnProgress {
  std::uint32_t replies = 0;
  std::uint32_t calls = 0;
  std::uint32_t failures = 0;  // Replies in a row whose calls have all failed.
  std::chrono::nanoseconds active{};
  std::uint64_t events = 0;  // The number of the next event; stored when the turn has ended.
};

struct TurnRecord {
  TurnView view;  // Without `id`, `previous` and `created_at`, which StoredResponse has.
  // The following are stored only as long as the turn has not ended.
  TurnSpec spec{};  // Without what `view` has.
  std::optional<CallerRecord> caller{};
  std::vector<TurnItem> adopted{};    // As in TurnStart.
  std::vector<ApprovalId> decided{};  // As in TurnStart.
  TurnProgress progress{};
};

std::string Encode(const TurnRecord& record);
Result<TurnRecord> DecodeTurnRecord(std::string_view bytes);

inline bool HasEnded(TurnState state) {
  return state != TurnState::kQueued && state != TurnState::kRunning;
}

}  // namespace caisson
