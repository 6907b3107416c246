#include "codeact/fleeting_runs.h"

#include <algorithm>
#include <utility>

namespace caisson {
namespace {

// Of each owner.
constexpr std::size_t kMaxRuns = 100;
constexpr std::size_t kMaxBytes = 64u << 20;

Error NoSuch(std::string_view what) {
  return Error(ErrorCode::kNotFound, "there is no such " + std::string(what));
}

std::size_t SizeOf(const RunView& run) {
  const Outcome& outcome = run.outcome;
  std::size_t bytes = outcome.stdout_text.size() + outcome.stderr_text.size() + run.code.size();
  for (const OutcomeFile& file : outcome.files) bytes += file.contents.size();
  return bytes;
}

}  // namespace

asio::awaitable<Result<RunView>> FleetingRuns::Start(IsolationKey owner, StartRun request) {
  RunView view{.id = RunId(""), .code = request.code, .created_at = SystemClock().Now()};
  CodeRequest code{.owner = OwnerId(owner.str()),
                   .code = std::move(request.code),
                   .setting = request.setting ? std::move(request.setting) : setting_,
                   .limits = request.limits,
                   .on_output = std::move(request.on_output)};
  if (request.session) code.session = SessionRequest{.name = *std::move(request.session)};
  auto run = co_await runner_.Run(std::move(code));
  if (!run) co_return std::move(run).error();
  view.outcome = std::move(run->outcome);
  view.id = RunId(view.outcome.run_id);
  view.state = RunState::kFinished;
  view.updated_at = SystemClock().Now();
  Remember(owner, view);
  co_return view;
}

void FleetingRuns::Remember(const IsolationKey& owner, const RunView& run) {
  if (run.outcome.files.empty()) return;  // Nothing anybody could come back for.
  auto memories = memories_.Lock();
  Memory& memory = (*memories)[owner];
  memory.runs.push_back(run);
  memory.bytes += SizeOf(run);
  while (memory.runs.size() > kMaxRuns || memory.bytes > kMaxBytes) {
    memory.bytes -= SizeOf(memory.runs.front());
    memory.runs.pop_front();
  }
}

asio::awaitable<Result<RunView>> FleetingRuns::StartDetached(IsolationKey, StartRun) {
  co_return Error(ErrorCode::kFailedPrecondition, "without a store, runs have to be waited for");
}

asio::awaitable<Result<RunView>> FleetingRuns::Find(IsolationKey owner, RunId id) {
  auto memories = memories_.Lock();
  for (const RunView& run : (*memories)[owner].runs) {
    if (run.id == id) co_return run;
  }
  co_return NoSuch("run");
}

asio::awaitable<Result<Page<RunView>>> FleetingRuns::List(IsolationKey owner,
                                                          std::optional<RunState> state,
                                                          PageQuery query) {
  Page<RunView> page;
  if (state && *state != RunState::kFinished) co_return page;
  auto memories = memories_.Lock();
  const std::deque<RunView>& runs = (*memories)[owner].runs;
  auto next = runs.rbegin();
  if (query.after) {
    next = std::find_if(runs.rbegin(), runs.rend(),
                        [&](const RunView& run) { return run.id.str() == *query.after; });
    if (next == runs.rend()) {
      co_return Error(ErrorCode::kInvalidArgument, "there is no such page");
    }
    ++next;
  }
  const std::size_t limit = std::min(query.limit, kMaxPageSize);
  for (; next != runs.rend() && page.items.size() < limit; ++next) page.items.push_back(*next);
  if (next != runs.rend() && !page.items.empty()) page.next = page.items.back().id.str();
  co_return page;
}

asio::awaitable<Result<RunView>> FleetingRuns::Await(IsolationKey owner, RunId id,
                                                     std::chrono::steady_clock::time_point) {
  return Find(std::move(owner), std::move(id));
}

asio::awaitable<Result<RunView>> FleetingRuns::Cancel(IsolationKey owner, RunId id) {
  return Find(std::move(owner), std::move(id));
}

asio::awaitable<Result<std::string>> FleetingRuns::File(IsolationKey owner, RunId id,
                                                        std::uint32_t number) {
  auto run = co_await Find(std::move(owner), std::move(id));
  if (!run || number >= run->outcome.files.size()) co_return NoSuch("file");
  OutcomeFile& file = run->outcome.files[number];
  if (file.change == "deleted" || !file.omitted.empty()) co_return NoSuch("file");
  co_return std::move(file.contents);
}

asio::awaitable<Result<StoredApproval>> FleetingRuns::FindApproval(IsolationKey, ApprovalId) {
  co_return NoSuch("approval");
}

asio::awaitable<Result<Page<StoredApproval>>> FleetingRuns::ListApprovals(
    IsolationKey, std::optional<ApprovalState>, PageQuery) {
  co_return Page<StoredApproval>{};
}

asio::awaitable<Result<StoredApproval>> FleetingRuns::Decide(IsolationKey, ApprovalId, Decision) {
  co_return NoSuch("approval");
}

}  // namespace caisson
