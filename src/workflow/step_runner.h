// A StepRunner performs the steps of a superstep: code, tools and agents. Workflows inside
// workflows are run by the WorkflowService itself.
//
// The same step can be asked for again, by another process or after a crash. It then has the same
// instance, superstep, index and message, and the runner returns the result of the first time
// instead of doing the work again (I6).
//
// Trust     Messages and state are hostile content. They reach code and tools as data only.
// Threads   Run() on the executor of the awaiting coroutine; several at a time.
// Lifetime  Outlives its coroutines.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "caller/caller_context.h"
#include "identity/identity.h"
#include "store/ids.h"
#include "workflow/graph.h"
#include "workflow/instance_state.h"

namespace caisson {

namespace asio = boost::asio;

struct StepCall {
  IsolationKey owner;
  InstanceId instance;
  std::uint64_t superstep = 0;
  std::uint32_t index = 0;  // Unique in the superstep.
  Executor executor;
  Value message{};
  Dict state{};  // The shared state at the beginning of the superstep.
  // The caller of this superstep; never inherited from another one. Null: none in particular.
  std::shared_ptr<const CallerContext> caller{};
  // Set if an earlier attempt may have begun this step, at this time at the earliest.
  std::optional<SystemTime> begun_before{};
};

struct StepDone {
  Value output;
};
// The step waits for decisions of people. It is asked for again after some of them.
struct StepWaits {
  std::vector<OpenApproval> approvals{};
  std::vector<OpenRequest> requests{};
};
// The instance ends.
struct StepFailed {
  WorkflowFault fault = WorkflowFault::kStep;
  std::string error;
};
using StepResult = std::variant<StepDone, StepWaits, StepFailed>;

class StepRunner {
 public:
  virtual ~StepRunner() = default;

  // Fails if nobody knows how the step ended, or it could not be begun: the store is down, too many
  // runs are under way, the coroutine was cancelled. The step can be asked for again.
  virtual asio::awaitable<Result<StepResult>> Run(StepCall call) = 0;
};

// Returns 64 hexadecimal digits that identify the step and everything that it is given: the key
// under which its result is found again. Fails if the message has no canonical text.
Result<std::string> StepDigest(const StepCall& call);

}  // namespace caisson
