#include "runs/run_service.h"

#include <cstdint>
#include <utility>

namespace caisson {

asio::awaitable<Result<std::shared_ptr<const Tool>>> RunService::FindTool(IsolationKey,
                                                                          ApprovalId) {
  co_return Error(ErrorCode::kFailedPrecondition, "this service does not know the tools of runs");
}

Result<void> CheckSession(const RunSpec& run) {
  if (run.session) return {};
  if (run.restart != Restart::kNo) {
    return Error(
        ErrorCode::kInvalidArgument,
        "\"restart\" is about a \"session\": name the one that was lost, or leave \"restart\" out");
  }
  if (run.fork_of) {
    return Error(ErrorCode::kInvalidArgument,
                 "\"fork_of\" is what a new \"session\" begins as: give that one a name, too");
  }
  return {};
}

std::set<std::string> ApprovalIds(const RunView& view) {
  std::set<std::string> ids;
  for (const OutcomeApproval& approval : view.outcome.approvals) ids.insert(approval.id);
  return ids;
}

asio::awaitable<Result<RunView>> WithFiles(RunView view, LoadFile load) {
  std::uint32_t number = 0;
  for (OutcomeFile& file : view.outcome.files) {
    const std::uint32_t its_number = number++;
    const bool is_captured = file.change != "deleted" && file.omitted.empty();
    if (!is_captured || file.contents.size() == file.size) continue;
    auto contents = co_await load(its_number);
    if (!contents) co_return std::move(contents).error().Context("load " + file.path);
    file.contents = *std::move(contents);
  }
  co_return view;
}

}  // namespace caisson
