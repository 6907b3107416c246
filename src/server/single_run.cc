#include "server/single_run.h"

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <chrono>
#include <string>
#include <utility>

namespace caisson {

void SingleRun::Cancel() {
  asio::post(caller_, [this] { cancelled_ = true; });
  stop_.Request();
}

void SingleRun::Tell(OutputStream stream, std::string_view bytes, const OnOutput& on_output) {
  told_[stream] += bytes.size();
  on_output(stream, bytes);
}

Result<RunView> SingleRun::Perform(RunSpec request, OnOutput on_output, Ask ask, Asks asks) {
  request.on_output = [this, &on_output](OutputStream stream, std::string_view bytes) {
    asio::post(caller_, [this, &on_output, stream, text = std::string(bytes)] {
      Tell(stream, text, on_output);
    });
  };
  if (ask && asks == Asks::kAtOnce) {
    request.on_ask = [this, &ask](const StoredApproval& approval) {
      asio::post(caller_, [this, &ask, approval] { Decide(approval, ask); });
    };
  }
  Outcome cancelled = CancelledRun().outcome;
  Result<RunView> result = RunView{
      .id = RunId(cancelled.run_id), .state = RunState::kFinished, .outcome = std::move(cancelled)};
  const auto work = [&]() -> asio::awaitable<void> {
    if (!cancelled_) result = co_await Run(std::move(request), ask);
  };
  Spawn(stop_, work());
  caller_.run();
  if (!result) return result;
  // What a run prints after it has slept in the store does not come as it is printed.
  const auto rest = [&](OutputStream stream, std::string_view all) {
    if (told_[stream] < all.size()) Tell(stream, all.substr(told_[stream]), on_output);
  };
  rest(OutputStream::kStdout, result->outcome.stdout_text);
  rest(OutputStream::kStderr, result->outcome.stderr_text);
  return result;
}

asio::awaitable<Result<RunView>> SingleRun::Run(RunSpec request, const Ask& ask) {
  co_await asio::this_coro::throw_if_cancelled(false);  // The outcome says that it was cancelled.
  auto view = co_await runs_.Start(owner_, std::move(request));
  if (!view) co_return view;
  const RunId id = view->id;
  while (ask && view && view->state == RunState::kWaiting && view->saved_bytes == 0) {
    for (const OutcomeApproval& each : view->outcome.approvals) {
      auto approval = co_await runs_.FindApproval(owner_, ApprovalId(each.id));
      if (!approval) co_return std::move(approval).error();
      Decide(*approval, ask);
    }
    view = co_await runs_.Await(owner_, view->id, ApprovalIds(*view),
                                std::chrono::steady_clock::time_point::max());
    if (co_await IsCancelled()) view = co_await runs_.Cancel(owner_, id);
  }
  if (!view) co_return view;
  co_return co_await WithFiles(
      *std::move(view), [&](std::uint32_t number) { return runs_.File(owner_, id, number); });
}

void SingleRun::Decide(const StoredApproval& approval, const Ask& ask) {
  // A run that goes on after its worker was lost asks again.
  if (!asked_.insert(approval.asked.id).second) return;
  auto answer = ask(approval);
  if (answer) Spawn(caller_.get_executor(), Send(approval.asked.id, *std::move(answer)));
}

asio::awaitable<void> SingleRun::Send(ApprovalId id, Answer answer) {
  auto decided = co_await runs_.Decide(owner_, id, answer);
  if (!decided && answer.verdict == ApprovalState::kApproved) {
    decided = co_await runs_.Decide(
        owner_, id,
        {.verdict = ApprovalState::kDenied, .by = answer.by, .reason = decided.error().message()});
  }
  if (!decided) Cancel();  // Otherwise the run would wait forever.
}

}  // namespace caisson
