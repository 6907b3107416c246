// A SingleRun executes one piece of code from a plain thread: for programs without an event loop.
//
// Trust     Output and outcome are the guest's: bounded, not clean.
// Threads   Perform() blocks its caller, and output arrives on that same thread, which may therefore
//           block in it: the engine's lane never does. Cancel() from any thread, also from OnOutput.
// Lifetime  Borrows the engine. For one Perform().
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "base/guarded.h"
#include "base/result.h"
#include "engine/engine.h"

namespace caisson {

class SingleRun {
 public:
  using OnOutput = std::function<void(OutputStream stream, std::string_view bytes)>;

  explicit SingleRun(Engine& engine) : engine_(engine) {}
  SingleRun(const SingleRun&) = delete;
  SingleRun& operator=(const SingleRun&) = delete;

  // Runs the code in a fresh cell. No tools are offered: a call raises in the code. All output has been
  // handed over when this returns.
  Result<Outcome> Perform(RunRequest request, OnOutput on_output);

  // Ends the run with a partial outcome; any number of times, before (then nothing is executed), during
  // and after it.
  void Cancel();

 private:
  struct State {
    Cell* cell = nullptr;  // While its run is under way.
    bool cancelled = false;
  };
  class Events;

  asio::awaitable<void> OpenAndRun(RunRequest request, Events& events);
  asio::awaitable<void> RunInCell(std::unique_ptr<Cell> cell, RunRequest request, Events& events);
  bool Register(Cell* cell);

  Engine& engine_;
  Guarded<State> state_;
  std::optional<Result<Outcome>>
      outcome_;  // Written on the cell's executor, read after it is done.
};

// The outcome of code that is refused for its length, before any cell saw it: all doors show the same.
// `boundary` is what it would have run in.
Outcome RefusedForLength(const Limits& limits, Boundary boundary);

}  // namespace caisson
