// AgentSteps performs agent steps as turns, and leaves the others to another StepRunner.
//
// A turn has an id that follows from its step, so a step that is asked for again finds its turn
// (I6). A turn that waits for approvals is followed by another one as soon as they are decided.
//
// Trust     Messages are hostile content; the agent gets them as the text of a user.
// Threads   Same as StepRunner.
// Lifetime  Everything that it refers to outlives it.
#pragma once

#include "agent/turn_service.h"
#include "runs/run_service.h"
#include "workflow/step_runner.h"

namespace caisson {

class AgentSteps final : public StepRunner {
 public:
  AgentSteps(TurnService& turns, RunService& runs, StepRunner& others)
      : turns_(turns), runs_(runs), others_(others) {}

  asio::awaitable<Result<StepResult>> Run(StepCall call) override;

 private:
  asio::awaitable<Result<TurnView>> Turn(const StepCall& call, const std::string& agent,
                                         const std::string& digest, std::uint32_t number,
                                         std::optional<ResponseId> previous);
  // Whether an approval that the turn waited for has been decided.
  asio::awaitable<bool> IsDecided(const StepCall& call, const TurnView& turn);

  TurnService& turns_;
  RunService& runs_;
  StepRunner& others_;
};

}  // namespace caisson
