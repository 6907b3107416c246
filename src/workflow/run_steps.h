// RunSteps performs code and tool steps as runs. A run has a journal, approvals and limits, and is
// found again by its key, so that a step that is asked for again is not done again (I6).
//
//   RunSteps steps({.runs = host->runs()});
//
// Code reads kInputsFile: {"message": ..., "state": {...}}.
//
// Trust     Messages and state are hostile content. They are data of a run, never source text.
// Threads   Same as StepRunner.
// Lifetime  Everything in the options outlives it.
#pragma once

#include <chrono>
#include <string_view>

#include "base/clock.h"
#include "runs/run_service.h"
#include "workflow/step_runner.h"

namespace caisson {

inline constexpr std::string_view kInputsFile = "/input/inputs.json";

struct RunStepsOptions {
  RunService& runs;
  const Clock* clock = nullptr;  // Null: the system's clock.
  // How long a run and its key are kept. A step that may have begun earlier than that and is not
  // found ends the instance as uncertain.
  std::chrono::seconds keep = std::chrono::hours(24);
};

class RunSteps final : public StepRunner {
 public:
  explicit RunSteps(RunStepsOptions options) : options_(options) {}

  asio::awaitable<Result<StepResult>> Run(StepCall call) override;

 private:
  asio::awaitable<Result<RunView>> Begin(const StepCall& call, RunSpec spec);
  asio::awaitable<Result<RunView>> FindAgain(IsolationKey owner, RunKey key);
  asio::awaitable<bool> IsDecided(IsolationKey owner, const RunView& view);

  SystemClock system_clock_;
  const RunStepsOptions options_;
};

// Returns the result of a step from its run, which has ended or waits.
StepResult ToStepResult(const RunView& view, const ExecutorId& executor);

}  // namespace caisson
