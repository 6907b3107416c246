// A SingleRun executes one piece of code from a plain thread: for programs without an event loop.
//
// Trust     Output and outcome are the guest's: bounded, not clean.
// Threads   Perform() blocks its caller; output, and what is posted to executor(), arrives on that same
//           thread, which may therefore block in it: the engine's lane never does. Cancel() from any thread,
//           also from OnOutput.
// Lifetime  Borrows the runner. For one Perform().
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

  // As CodeRunner::Run. All output has been handed over when this returns.
  Result<CodeRun> Perform(CellRun request, OnOutput on_output);
  // As RunService::Start, for a run that may wait in the store. `start` is given the request.
  using Start = std::function<asio::awaitable<Result<RunView>>(RunSpec request)>;
  Result<RunView> Perform(RunSpec request, const Start& start, OnOutput on_output);

  // Ends the run with a partial outcome; any number of times, before (then nothing is executed), during
  // and after it.
  void Cancel();

  // The thread in Perform().
  asio::any_io_executor executor() { return caller_.get_executor(); }

 private:
  // Hands output on to the thread in Perform(). The queue this makes is bounded by the run's own output limits.
  OnOutput ToCaller(OnOutput& on_output);
  // Awaits `work` on this thread, unless it was cancelled before.
  void Await(std::function<asio::awaitable<void>()> work);

  CodeRunner& runner_;
  asio::io_context caller_{1};
  const Stop stop_{caller_.get_executor()};
  bool cancelled_ = false;  // Used in caller_ only.
};

}  // namespace caisson
