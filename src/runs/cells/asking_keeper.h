// An AskingKeeper keeps the time of a run whose calls may have to wait for a person's answer: while somebody is
// asked, the run's wall clock stands still.
//
// Trust     Code may compute while its question is open; its CPU time is counted all the same.
// Threads   The executor of the run's cell.
// Lifetime  Shared by the run and the gate it gives out.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>

#include "runs/cells/resume_state.h"
#include "runs/cells/wall_limit.h"
#include "tools/bridge.h"
#include "tools/registry.h"

namespace caisson {

// Whether a call of any of them may need somebody's yes.
bool MayAsk(const ToolSet& tools);

class AskingKeeper final : public RunObserver, public std::enable_shared_from_this<AskingKeeper> {
 public:
  // The longest that a run waits for all its answers together.
  static constexpr std::chrono::hours kPatience{24};

  explicit AskingKeeper(std::chrono::nanoseconds wall_time) : wall_time_(wall_time) {}

  // Asks where `gate` asks.
  ToolGate Watch(ToolGate gate);

  void OnCell(Cell& cell, const std::optional<SessionId>& session) override;
  void OnEnd(Result<Outcome>& outcome) override;
  asio::awaitable<void> LetGo() override;

 private:
  class Question;

  const std::chrono::nanoseconds wall_time_;
  std::shared_ptr<WallLimit> limit_;
  std::size_t questions_ = 0;  // Open now.
  bool ended_ = false;
};

}  // namespace caisson
