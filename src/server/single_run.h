// A SingleRun executes one piece of code from a plain thread, for programs without an event loop.
//
// Trust     Output and outcome come from the guest. They are bounded, but not checked.
// Threads   Perform() blocks its caller. OnOutput and work posted to executor() run on that thread
//           and may block it without blocking the engine's lane. Cancel() from any thread, also
//           from OnOutput.
// Lifetime  Borrows the runner. Serves one Perform().
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <string_view>

#include "base/result.h"
#include "base/spawn.h"
#include "runs/cells/code_runner.h"
#include "runs/run_service.h"

namespace caisson {

class SingleRun {
 public:
  using OnOutput = std::function<void(OutputStream stream, std::string_view bytes)>;

  explicit SingleRun(CodeRunner& runner) : runner_(runner) {}
  SingleRun(const SingleRun&) = delete;
  SingleRun& operator=(const SingleRun&) = delete;

  // Same as CodeRunner::Run. All output has been delivered when this returns.
  Result<CodeRun> Perform(CellRun request, OnOutput on_output);
  // Same as RunService::Start, for a run that may wait in the store. Calls `start` with the
  // request.
  using Start = std::function<asio::awaitable<Result<RunView>>(RunSpec request)>;
  Result<RunView> Perform(RunSpec request, const Start& start, OnOutput on_output);

  // Ends the run with a partial outcome. Can be called several times, before the run (then nothing
  // is executed), during it and after it.
  void Cancel();

  // Runs work on the thread that is in Perform().
  asio::any_io_executor executor() { return caller_.get_executor(); }

 private:
  // Passes output to the thread in Perform(). The run's output limits bound the queue.
  OnOutput ToCaller(OnOutput& on_output);
  // Awaits `work` on this thread, unless the run is already cancelled.
  void Await(std::function<asio::awaitable<void>()> work);

  CodeRunner& runner_;
  asio::io_context caller_{1};
  const Stop stop_{caller_.get_executor()};
  bool cancelled_ = false;  // Used on caller_ only.
};

}  // namespace caisson
