// A SingleRun takes one run from its start to its end on a plain thread, for programs without an
// event loop.
//
//   SingleRun run(host->runs(), owner);
//   auto view = run.Perform({.code = "send(to='ann')"}, Print, AskAtTheTerminal);
//
// Trust     Output and outcome come from the guest. They are bounded, but not checked.
// Threads   Perform() blocks its caller. Output and questions arrive on that same thread, which may
//           block in them: the engine's lane never does. Cancel() from any thread, also from
//           OnOutput.
// Lifetime  Borrows the runs. Serves one Perform().
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "base/result.h"
#include "base/spawn.h"
#include "runs/run_service.h"

namespace caisson {

class SingleRun {
 public:
  using OnOutput = std::function<void(OutputStream stream, std::string_view bytes)>;
  // Decides about one call. nullopt: there is no answer, because the run is being cancelled.
  using Ask = std::function<std::optional<Answer>(const StoredApproval& approval)>;
  // kAtOnce: each call is asked about. kIfLost: only if the run cannot be stored while it waits; a
  // stored run is left waiting, to be decided elsewhere.
  enum class Asks { kAtOnce, kIfLost };

  SingleRun(RunService& runs, IsolationKey owner) : runs_(runs), owner_(std::move(owner)) {}
  SingleRun(const SingleRun&) = delete;
  SingleRun& operator=(const SingleRun&) = delete;

  // As RunService::Start, with the contents of all files. All output has been handed over on
  // return. Without `ask` the run must not ask (RunSpec::approvals).
  Result<RunView> Perform(RunSpec request, OnOutput on_output, Ask ask = {},
                          Asks asks = Asks::kAtOnce);

  // Ends the run with a partial outcome. Can be called any number of times: before Perform (then
  // nothing is executed), during it and after it.
  void Cancel();

 private:
  asio::awaitable<Result<RunView>> Run(RunSpec request, const Ask& ask);
  void Decide(const StoredApproval& approval, const Ask& ask);
  asio::awaitable<void> Send(ApprovalId id, Answer answer);
  // Hands output over to the thread in Perform(). The run's output limits bound the queue.
  void Tell(OutputStream stream, std::string_view bytes, const OnOutput& on_output);

  RunService& runs_;
  const IsolationKey owner_;
  asio::io_context caller_{1};
  const Stop stop_{caller_.get_executor()};
  // Used in caller_ only.
  bool cancelled_ = false;
  std::map<OutputStream, std::size_t> told_;  // Bytes of each.
  std::set<ApprovalId> asked_;
};

}  // namespace caisson
