#include "server/single_run.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <exception>
#include <optional>
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

Result<CodeRun> SingleRun::Perform(CodeRequest request, OnOutput on_output) {
  // The queue this makes is bounded by the run's own output limits.
  request.on_output = [this, &on_output](OutputStream stream, std::string_view bytes) {
    asio::post(caller_,
               [&on_output, stream, text = std::string(bytes)] { on_output(stream, text); });
  };
  std::optional<Result<CodeRun>> result;
  const auto work = [&]() -> asio::awaitable<void> {
    started_ = true;
    if (cancelled_) {
      result = CancelledRun();
    } else {
      result = co_await runner_.Run(std::move(request));
    }
    started_ = false;  // Cancelling what has ended would reach into what is gone.
  };
  asio::co_spawn(caller_, work,
                 asio::bind_cancellation_slot(stop_.slot(), [](const std::exception_ptr& thrown) {
                   if (thrown) std::terminate();  // Nothing of ours throws.
                 }));
  caller_.run();
  return *std::move(result);
}

}  // namespace caisson
