// RunNews is what is known of a run that this process holds, for everybody who looks at the run or
// waits for it.
//
// A run can have many megabytes of output and results. They are shared, not copied, under the lock,
// because the run's lane takes the lock for each piece of output.
//
// Trust     Outcomes are hostile content.
// Threads   Any.
// Lifetime  Owned by the LiveRun.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/growing_text.h"
#include "base/guarded.h"
#include "base/wakeup.h"
#include "runs/run_service.h"

namespace caisson {

class RunNews {
 public:
  struct State {
    // Without output, and without the outcome of a run that has ended: WholeView() adds them.
    RunView view;
    GrowingText stdout_text{};
    GrowingText stderr_text{};
    std::shared_ptr<const Outcome> outcome{};  // Set when the run has ended.
    bool sleeps = false;  // It only waits for time. The view shows it as running.
    std::uint64_t version = 1;
    bool gone = false;  // This process no longer holds it. If it has not ended, it is in the store.
    std::optional<Error> error{};  // Set if it could not run at all.

    bool ended() const { return outcome != nullptr; }
  };

  RunNews(RunView view, const Clock& clock)
      : clock_(clock), shared_(Shared{.state = {.view = std::move(view)}}) {}

  // Copies no output and no outcome of a run that has ended.
  State Look() const { return shared_.Lock()->state; }
  // Calls `ask(const State&)` under the lock and returns its answer. `ask` must be quick.
  auto Ask(const auto& ask) const { return ask(std::as_const(shared_.Lock()->state)); }

  // Changes the state and wakes everybody who waits.
  void Publish(const std::function<void(State&)>& change);
  // Adds output. Returns the part of `bytes` that was not heard before: code that begins again
  // repeats its output.
  std::string_view Hear(OutputStream stream, std::string_view bytes);

  // Returns when there is news after `version`, at `deadline`, or with kCancelled when the waiting
  // coroutine is cancelled.
  asio::awaitable<Wakeup::Reason> Await(std::uint64_t version,
                                        std::chrono::steady_clock::time_point deadline) const;

 private:
  struct Shared {
    State state;
    std::size_t streamed_stdout = 0;  // Bytes that Hear() returned.
    std::size_t streamed_stderr = 0;
    std::vector<std::shared_ptr<Wakeup>> waiting{};
  };

  const Clock& clock_;
  mutable Guarded<Shared> shared_;
};

// Returns the view with its output or its outcome. Large ones are copied in the pool.
asio::awaitable<RunView> WholeView(RunNews::State state, std::optional<asio::any_io_executor> pool);

}  // namespace caisson
