// A ToolBridge answers the calls of one run out of a set of tools.
//
//   ToolBridge bridge(*cell, registry.Snapshot(), {.on_output = Print});
//   auto outcome = co_await cell->Run(std::move(request), bridge, AfterRun::kDiscard);
//   co_await bridge.Close();
//
// Calls run side by side, up to a number; more wait their turn, packed. What goes wrong with one (no such tool, a bad
// argument, a limit, a timeout, an answer that is too long) raises ToolError where it was made, and nowhere else.
//
// The memory of a run's calls is bounded: decoded arguments of calls under way by kMaxArgumentBytes together, answers that
// the code does not have yet by kMaxAnswerBytes. A call waits until there is room for its arguments. An answer without
// room becomes a LimitError.
//
// Trust     Calls were written by an attacker: names and arguments are checked here, and nothing is done for a call
//           that does not pass. Answers are the tools'; text that is not UTF-8 does not go in.
// Threads   Everything on the cell's executor. Never blocks it, as long as Inline bodies do not: large calls are decoded,
//           checked and hashed in the pool.
// Lifetime  The cell must stay until Close() was called or the bridge is gone; from then on nothing is answered
//           and what is under way is cancelled. Close() returns when all of it has ended.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "tools/call_journal.h"
#include "tools/registry.h"
#include "tools/tool.h"

namespace caisson {

// A call that waits for somebody's yes: what is shown to them is what will be done (I5).
struct GatedCall {
  std::uint32_t seq = 0;
  std::shared_ptr<const Tool> tool{};
  Dict arguments{};
};

// Asks whoever may approve. Nothing: go ahead.
using ToolGate = std::function<asio::awaitable<std::optional<ToolDenied>>(GatedCall)>;

// For those who have said yes to all of a run's calls beforehand.
ToolGate OpenGate();

// Of one run. See above.
inline constexpr std::size_t kMaxArgumentBytes = kMaxDecodedBytes + (8u << 20);
inline constexpr std::size_t kMaxAnswerBytes = 32u << 20;

struct ToolBridgeOptions {
  std::size_t side_by_side = 32;
  std::optional<asio::any_io_executor>
      pool{};       // For large calls; without one they are read on the executor.
  ToolGate gate{};  // Without one, calls that need approval are denied.
  std::function<void(OutputStream, std::string_view)> on_output{};
  OnToolProgress on_progress{};
  std::function<void(std::optional<HostTime>)> on_sleep{};  // As RunEvents::OnSleep.
  ToolRun::Trace trace{};
  std::shared_ptr<const SessionContext> session{};  // Whom the calls are for.
  // Sees every call, and decides about those that need approval in the gate's place. Answers are then given one
  // after the other.
  std::shared_ptr<CallJournal> journal{};
};

class ToolBridge final : public RunEvents {
 public:
  ToolBridge(Cell& cell, std::shared_ptr<const ToolSet> tools, ToolBridgeOptions options);
  ~ToolBridge() override;
  ToolBridge(const ToolBridge&) = delete;
  ToolBridge& operator=(const ToolBridge&) = delete;

  void OnOutput(OutputStream stream, std::string_view bytes) override;
  void OnCall(ToolCall call) override;
  void OnSleep(std::optional<HostTime> until) override;
  // Calls that the run had made when its cell was saved: those that are still open are answered. With a journal only.
  void Reopen(std::vector<RecordedCall> calls);

  asio::awaitable<void> Close();

  // What the decoded arguments of calls under way take now, or may take: at most kMaxArgumentBytes.
  std::size_t argument_bytes() const;

  // Says of the run's calls what its cell cannot know: the names of their arguments, and which of those without an answer
  // may have been done all the same (I6).
  void Explain(std::vector<OutcomeCall>& calls) const;

 private:
  class Traffic;
  std::shared_ptr<Traffic> traffic_;  // Shared with the calls under way, which may outlive us.
};

}  // namespace caisson
