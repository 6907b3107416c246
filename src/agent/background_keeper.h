// A BackgroundKeeper stores a turn that survives its client: each step, and all events.
//
// Events are shown only after they are stored, so that no client has seen what another replica does
// not know. They are stored in groups; deltas of one item are merged. Beyond a number of bytes,
// deltas are left out: the complete items follow in any case.
//
// Trust     Contents are opaque.
// Threads   Those of its turn.
// Lifetime  Until the turn has ended and Finish() has returned.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "agent/conversation_end.h"
#include "agent/live_turn.h"
#include "base/clock.h"
#include "base/wakeup.h"
#include "store/store.h"

namespace caisson {

struct BackgroundSettings {
  std::size_t max_event_bytes = std::size_t{8} << 20;  // Of one turn. Beyond it without deltas.
  std::chrono::milliseconds gather{20};                // Events of this time are stored together.
  std::chrono::hours keys{24 * 30};  // How long runs are found again by their keys.
};

class BackgroundKeeper final : public TurnKeeper,
                               public std::enable_shared_from_this<BackgroundKeeper> {
 public:
  struct Options {
    Store& store;
    const Clock& clock;
    IsolationKey owner;
    ResponseId id;
    Lease lease;
    std::uint64_t next_event = 0;
    std::int64_t conversation_length = 0;
    BackgroundSettings settings{};
    std::function<void()> on_stored{};  // More events can be read.
    std::function<void()> on_lost{};    // Another replica has the turn.
  };

  BackgroundKeeper(Options options, asio::any_io_executor executor);

  void OnEvent(const TurnEvent& event) override;
  asio::awaitable<Result<void>> StoreStep(const TurnRecord& record) override;
  asio::awaitable<Result<void>> StoreEnd(const TurnRecord& record) override;
  std::optional<RunKey> KeyOf(const TurnItem& call) override;

  // After the turn: gives it to other replicas if it has not ended.
  asio::awaitable<void> Finish();

 private:
  asio::awaitable<Result<void>> Flush();
  void FlushSoon();
  NewEvents ToNew(const std::vector<TurnEvent>& events) const;
  asio::awaitable<void> AwaitIdle();
  void EndFlush();
  void Lose(const Result<void>& result);

  const Options options_;
  asio::steady_timer timer_;
  std::vector<TurnEvent> pending_;
  std::uint64_t next_;
  std::size_t bytes_ = 0;
  bool flushing_ = false;
  bool timed_ = false;
  bool ended_ = false;
  std::vector<std::shared_ptr<Wakeup>> waiting_;
};

}  // namespace caisson
