#include "server/single_run.h"

#include <boost/asio/post.hpp>
#include <string>
#include <utility>

namespace caisson {

void SingleRun::Cancel() {
  asio::post(caller_, [this] { cancelled_ = true; });
  stop_.Request();
}

SingleRun::OnOutput SingleRun::ToCaller(OnOutput& on_output) {
  return [this, &on_output](OutputStream stream, std::string_view bytes) {
    asio::post(caller_,
               [&on_output, stream, text = std::string(bytes)] { on_output(stream, text); });
  };
}

void SingleRun::Await(std::function<asio::awaitable<void>()> work) {
  const auto unless_cancelled = [&]() -> asio::awaitable<void> {
    if (!cancelled_) co_await work();
  };
  Spawn(stop_, unless_cancelled());
  caller_.run();
}

Result<CodeRun> SingleRun::Perform(CellRun request, OnOutput on_output) {
  request.on_output = ToCaller(on_output);
  Result<CodeRun> result = CancelledRun();
  Await([&]() -> asio::awaitable<void> { result = co_await runner_.Run(std::move(request)); });
  return result;
}

Result<RunView> SingleRun::Perform(RunSpec request, const Start& start, OnOutput on_output) {
  request.on_output = ToCaller(on_output);
  Outcome cancelled = CancelledRun().outcome;
  Result<RunView> result = RunView{
      .id = RunId(cancelled.run_id), .state = RunState::kFinished, .outcome = std::move(cancelled)};
  Await([&]() -> asio::awaitable<void> { result = co_await start(std::move(request)); });
  return result;
}

}  // namespace caisson
