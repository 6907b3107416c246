#include "server/single_run.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <exception>
#include <string>
#include <utility>

namespace caisson {

void SingleRun::Cancel() {
  asio::post(caller_, [this] {
    cancelled_ = true;
    // Before it has started there is nothing to cancel but the start, and after its end nothing at all.
    if (started_) stop_.emit(asio::cancellation_type::terminal);
  });
}

SingleRun::OnOutput SingleRun::ToCaller(OnOutput& on_output) {
  return [this, &on_output](OutputStream stream, std::string_view bytes) {
    asio::post(caller_,
               [&on_output, stream, text = std::string(bytes)] { on_output(stream, text); });
  };
}

void SingleRun::Await(std::function<asio::awaitable<void>()> work) {
  const auto unless_cancelled = [&]() -> asio::awaitable<void> {
    started_ = true;
    if (!cancelled_) co_await work();
    started_ = false;  // Cancelling what has ended would reach into what is gone.
  };
  asio::co_spawn(caller_, unless_cancelled,
                 asio::bind_cancellation_slot(stop_.slot(), [](const std::exception_ptr& thrown) {
                   if (thrown) std::terminate();  // Nothing of ours throws.
                 }));
  caller_.run();
}

Result<CodeRun> SingleRun::Perform(CodeRequest request, OnOutput on_output) {
  request.on_output = ToCaller(on_output);
  Result<CodeRun> result = CancelledRun();
  Await([&]() -> asio::awaitable<void> { result = co_await runner_.Run(std::move(request)); });
  return result;
}

Result<RunView> SingleRun::Perform(StartRun request, const Start& start, OnOutput on_output) {
  request.on_output = ToCaller(on_output);
  Outcome cancelled = CancelledRun().outcome;
  Result<RunView> result = RunView{
      .id = RunId(cancelled.run_id), .state = RunState::kFinished, .outcome = std::move(cancelled)};
  Await([&]() -> asio::awaitable<void> { result = co_await start(std::move(request)); });
  return result;
}

}  // namespace caisson
