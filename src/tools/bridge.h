// A ToolBridge answers the calls of one run from the tools that were there when it started.
//
//   ToolBridge bridge(*cell, registry.Snapshot(), {.on_output = show});
//   auto outcome = co_await cell->Run(request, bridge, AfterRun::kDiscard);
//   co_await bridge.Close();
//
// Calls run side by side, up to a number; the others wait in line. Every call gets one answer: a call that
// was refused raises in the code with what to change, one that needs an approval nobody gave is denied.
//
// Trust     Calls are an attacker's: unknown names, wrong arguments, as many as the run's limits allow.
// Threads   The cell's executor. Tools that answer at once do so there, while the lane stands still.
// Lifetime  One run. Borrows the cell. Close() ends what the run left under way and must be awaited
//           before the bridge and the cell go.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <string_view>
#include <utility>

#include "engine/engine.h"
#include "tools/registry.h"
#include "tools/tool.h"

namespace caisson {

struct BridgeOptions {
  // Whether whoever started the run has said yes to all its calls beforehand.
  Consent consent = Consent::kNone;
  std::size_t side_by_side = 64;
  ToolRun::Trace trace{};
  std::function<void(OutputStream stream, std::string_view bytes)> on_output{};
};

class ToolBridge final : public RunEvents {
 public:
  ToolBridge(Cell& cell, std::shared_ptr<const ToolSet> tools, BridgeOptions options);
  ToolBridge(const ToolBridge&) = delete;
  ToolBridge& operator=(const ToolBridge&) = delete;
  ~ToolBridge() override;

  void OnOutput(OutputStream stream, std::string_view bytes) override;
  void OnCall(ToolCall call) override;

  // Takes no more calls, cancels those under way and returns when they have ended. A tool's effect may
  // have happened all the same; the outcome shows such a call as pending.
  asio::awaitable<void> Close();

 private:
  struct UnderWay {
    asio::cancellation_signal stop;
  };

  void Begin(const Tool& tool, ToolCall call);
  asio::awaitable<void> Perform(const Tool& tool, ToolCall call);
  void Ended(std::list<UnderWay>::iterator place);
  void Answer(std::uint32_t seq, Result<ToolAnswer> answer);
  Invocation ToInvocation(ToolCall call) const;

  Cell& cell_;
  const std::shared_ptr<const ToolSet> tools_;
  const BridgeOptions options_;
  ToolRun run_;
  std::list<UnderWay> under_way_;
  std::deque<std::pair<const Tool*, ToolCall>> in_line_;  // As many as the run may make calls.
  bool closed_ = false;
  asio::steady_timer idle_;  // Cancelled when the last call has ended.
};

}  // namespace caisson
