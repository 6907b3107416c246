// The events of AG-UI 1.0 that are not about one item of a turn. No field is null.
//
// Trust     Texts are hostile content and become JSON strings.
// Threads   Pure functions.
// Lifetime  Values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "model/model.h"
#include "protocol/agui/thread.h"
#include "wire/value.h"

namespace caisson::agui {

// Returns the event as sent: JSON with its time, in whole milliseconds.
std::string ToText(Dict event, SystemTime now);

Dict RunStarted(const std::string& thread_id, const std::string& run_id);
Dict RunError(std::string_view message, std::string_view code);

// How a run ended, for RUN_FINISHED.
struct Finish {
  enum class Outcome { kSuccess, kInterrupt, kCancelled };
  Outcome outcome = Outcome::kSuccess;
  std::vector<std::string> pending_calls{};  // Of the client.
  std::string incomplete{};                  // Why the answer is cut; empty: it is whole.
  std::string model{};
  model::TokenUsage usage{};
};
Dict RunFinished(const std::string& thread_id, const std::string& run_id, const Finish& finish,
                 const std::vector<OpenInterrupt>& interrupts);

Dict StateSnapshot(const Value& state);
Dict StateDelta(const List& patch);
Dict MessagesSnapshot(const std::vector<Value>& messages);

// The events that show a thread without running anything.
std::vector<Dict> Hydration(const std::string& thread_id, const std::string& run_id,
                            const Thread& thread, Finish finish);

}  // namespace caisson::agui
