// A ToolBridge answers the calls of one run from a set of tools.
//
//   ToolBridge bridge(*cell, registry.Snapshot(), {.on_output = Print});
//   auto outcome = co_await cell->Run(std::move(request), bridge, AfterRun::kDiscard);
//   co_await bridge.Close();
//
// Calls run side by side, up to a number; more wait in encoded form. A fault of one call (no such
// tool, a bad argument, a limit, a timeout, an answer that is too long) raises ToolError at that
// call only.
//
// The memory of a run's calls is bounded: kMaxArgumentBytes for the decoded arguments of all
// current calls together, kMaxHeldBytes for these, for texts of calls that wait for a person, and
// for answers that are not recorded or not read yet. A call waits until there is room for its
// arguments, and until the code has read most of the answers before it. An answer for which there
// is no room, because many calls ended at once, becomes a LimitError.
//
// Trust     Calls were written by an attacker. Names and arguments are checked here, and nothing is
//           done for a call that fails a check. Answers are the tools'; text that is not UTF-8 is
//           not delivered.
// Threads   Everything on the cell's executor. Does not block it, unless an Inline body does: large
//           calls are decoded, checked and hashed in the pool.
// Lifetime  The cell must exist until Close() was called or the bridge is destroyed. From then on
//           nothing is answered and current calls are cancelled. Close() returns when all of them
//           have ended.
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

// For one run; see above.
inline constexpr std::size_t kMaxArgumentBytes = kMaxDecodedBytes + (8u << 20);
inline constexpr std::size_t kMaxHeldBytes = 38u << 20;

struct ToolBridgeOptions {
  std::size_t side_by_side = 32;
  std::optional<asio::any_io_executor>
      pool{};  // For large calls; without it they are read on the executor.
  // kGiven: the caller has approved all calls of the run beforehand. kNone: calls that need
  // approval are denied, unless there is a journal.
  Consent consent = Consent::kNone;
  std::function<void(OutputStream, std::string_view)> on_output{};
  OnToolProgress on_progress{};
  std::function<void(std::optional<HostTime>)> on_sleep{};  // Same as RunEvents::OnSleep.
  ToolRun::Trace trace{};
  std::shared_ptr<const CallerContext> caller{};  // The session that the calls act for.
  // Sees every call and asks for approvals. Answers are then delivered one after the other.
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
  // Takes over calls that the run had made before its cell was saved, and answers the open ones.
  // Only with a journal.
  void Reopen(std::vector<RecordedCall> calls);

  asio::awaitable<void> Close();

  // Returns the memory that the decoded arguments of current calls take or may take: at most
  // kMaxArgumentBytes.
  std::size_t argument_bytes() const;

  // Adds to the run's calls what its cell cannot know: the names of their arguments, and which
  // unanswered calls may have been executed (I6).
  void Explain(std::vector<OutcomeCall>& calls) const;

 private:
  class Traffic;
  // Shared with the current calls, which may outlive this object.
  std::shared_ptr<Traffic> traffic_;
};

}  // namespace caisson
