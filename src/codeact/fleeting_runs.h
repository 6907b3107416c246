// FleetingRuns is a RunService without a store: what it knows of runs is in memory, the last of them only, and gone
// with the process. Nobody can be asked later, so calls that need approval are denied.
//
// Trust     As RunService.
// Threads   Any.
// Lifetime  The runner outlives it; Close() is the runner's.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <memory>

#include "base/guarded.h"
#include "codeact/run_service.h"

namespace caisson {

class FleetingRuns final : public RunService {
 public:
  FleetingRuns(CodeRunner& runner, std::shared_ptr<const CodeSetting> setting)
      : runner_(runner), setting_(std::move(setting)) {}

  asio::awaitable<Result<RunView>> Start(IsolationKey owner, StartRun request) override;
  // kFailedPrecondition: nothing would be there to be found.
  asio::awaitable<Result<RunView>> StartDetached(IsolationKey owner, StartRun request) override;
  asio::awaitable<Result<RunView>> Find(IsolationKey owner, RunId id) override;
  asio::awaitable<Result<Page<RunView>>> List(IsolationKey owner, std::optional<RunState> state,
                                              PageQuery query) override;
  asio::awaitable<Result<RunView>> Await(IsolationKey owner, RunId id,
                                         std::chrono::steady_clock::time_point deadline) override;
  asio::awaitable<Result<RunView>> Cancel(IsolationKey owner, RunId id) override;
  asio::awaitable<Result<std::string>> File(IsolationKey owner, RunId id,
                                            std::uint32_t number) override;
  asio::awaitable<Result<StoredApproval>> FindApproval(IsolationKey owner, ApprovalId id) override;
  asio::awaitable<Result<Page<StoredApproval>>> ListApprovals(IsolationKey owner,
                                                              std::optional<ApprovalState> state,
                                                              PageQuery query) override;
  asio::awaitable<Result<StoredApproval>> Decide(IsolationKey owner, ApprovalId id,
                                                 Decision decision) override;
  asio::awaitable<void> Close() override { return runner_.Close(); }

 private:
  // Of one owner, oldest first.
  struct Memory {
    std::deque<RunView> runs;
    std::size_t bytes = 0;
  };
  void Remember(const IsolationKey& owner, const RunView& run);

  CodeRunner& runner_;
  const std::shared_ptr<const CodeSetting> setting_;
  Guarded<std::map<IsolationKey, Memory>> memories_;
};

}  // namespace caisson
