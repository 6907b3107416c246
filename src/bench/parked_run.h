// A ParkedRun is a run that has called a tool and waits for the answer.
//
// Trust     Same as Cell.
// Threads   The lane it was started on.
// Lifetime  Destroying it before its end cancels the run.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "engine/engine.h"

namespace caisson::bench {

class ParkedRun {
 public:
  // Runs `code`, which calls the tool `ask` once. Returns when it waits.
  static asio::awaitable<Result<ParkedRun>> Start(Engine& engine, OwnerId owner, std::string code);
  ParkedRun(ParkedRun&&) = default;
  ParkedRun& operator=(ParkedRun&&) = default;
  ~ParkedRun();

  Cell& cell();
  std::uint32_t seq() const;
  Result<void> Answer(Value answer);
  // Waits for the outcome and returns it.
  asio::awaitable<Result<Outcome>> End();

 private:
  struct State;
  explicit ParkedRun(std::shared_ptr<State> state) : state_(std::move(state)) {}

  std::shared_ptr<State> state_;  // Shared with the coroutine that runs the code.
};

}  // namespace caisson::bench
