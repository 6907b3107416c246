#include "tools/body.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <optional>
#include <string>

namespace caisson {
namespace {

ToolRaised Thrown(std::exception_ptr thrown) {
  try {
    std::rethrow_exception(std::move(thrown));
  } catch (const std::exception& exception) {
    return {.type = "RuntimeError", .message = exception.what()};
  } catch (...) {
    return {.type = "RuntimeError", .message = "the tool failed"};
  }
}

ToolAnswer Guarded(const std::function<ToolAnswer()>& work) {
  try {
    return work();
  } catch (...) {
    return Thrown(std::current_exception());
  }
}

}  // namespace

ToolRaised ToRaised(const Error& error) {
  const auto type = [&] {
    switch (error.code()) {
      case ErrorCode::kInvalidArgument:
        return "TypeError";
      case ErrorCode::kNotFound:
        return "LookupError";
      case ErrorCode::kUnauthenticated:
      case ErrorCode::kPermissionDenied:
        return "PermissionError";
      case ErrorCode::kResourceExhausted:
        return "LimitError";
      case ErrorCode::kDeadlineExceeded:
        return "TimeoutError";
      case ErrorCode::kCancelled:
        return "CancelledError";
      case ErrorCode::kUnavailable:
        return "ConnectionError";
      case ErrorCode::kFailedPrecondition:
      case ErrorCode::kInternal:
        return "RuntimeError";
    }
    return "RuntimeError";
  };
  return {.type = type(), .message = error.message()};
}

ToolAnswer ToolBody::CallNow(const Dict& arguments) const {
  return Guarded([&] { return std::get<Immediate>(body_)(arguments); });
}

asio::awaitable<ToolAnswer> ToolBody::Call(Dict arguments) const {
  if (is_immediate()) co_return CallNow(arguments);
  std::exception_ptr thrown;
  try {
    co_return co_await std::get<Async>(body_)(std::move(arguments));
  } catch (...) {
    thrown = std::current_exception();
  }
  co_return Thrown(std::move(thrown));
}

asio::awaitable<ToolAnswer> AwaitPooled(asio::any_io_executor pool,
                                        std::function<ToolAnswer()> work) {
  struct Waiting {
    explicit Waiting(const asio::any_io_executor& executor)
        : done(executor, asio::steady_timer::time_point::max()) {}
    asio::steady_timer done;  // Cancelled when the answer is there.
    std::optional<ToolAnswer> answer;
  };
  const asio::any_io_executor home = co_await asio::this_coro::executor;
  auto waiting = std::make_shared<Waiting>(home);
  asio::post(pool, [home, waiting, work = std::move(work)] {
    asio::post(home, [waiting, answer = Guarded(work)]() mutable {
      waiting->answer = std::move(answer);
      waiting->done.cancel();
    });
  });
  co_await waiting->done.async_wait(asio::as_tuple(asio::use_awaitable));
  if (waiting->answer) co_return *std::move(waiting->answer);
  co_return ToolRaised{.type = "CancelledError", .message = "the call was cancelled"};
}

}  // namespace caisson
