#include "tools/body.h"

#include <utility>

#include "tools/pool.h"
#include "wire/json_misfit.h"

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

ToolReply Guarded(const std::function<ToolReply()>& work) {
  try {
    return work();
  } catch (...) {
    return {.answer = Thrown(std::current_exception())};
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
      case ErrorCode::kNoSpace:
        return "OSError";
      case ErrorCode::kFailedPrecondition:
      case ErrorCode::kInternal:
        return "RuntimeError";
    }
    return "RuntimeError";
  };
  return {.type = type(), .message = error.message()};
}

Result<void> CheckJsonArguments(const Dict& arguments, int levels_around) {
  const auto misfit = FindJsonMisfit(arguments, levels_around);
  if (!misfit) return {};
  return Error(ErrorCode::kInvalidArgument,
               "argument " + misfit->path + ": " + misfit->reason +
                   ", and the tool takes its arguments as JSON. Pass a str or a number instead");
}

ToolBody::Check JsonArgumentsCheck(int levels_around) {
  return [=](const Dict& arguments) { return CheckJsonArguments(arguments, levels_around); };
}

ToolBody ToolBody::Checking(Check check) && {
  check_ = std::move(check);
  return std::move(*this);
}

Result<void> ToolBody::CheckArguments(const Dict& arguments) const {
  return check_ ? check_(arguments) : Result<void>();
}

ToolReply ToolBody::CallNow(const Dict& arguments) const {
  return Guarded([&] { return std::get<Immediate>(body_)(arguments); });
}

asio::awaitable<ToolReply> ToolBody::Call(Dict arguments, CallContext context) const {
  if (is_immediate()) co_return CallNow(arguments);
  std::exception_ptr thrown;
  try {
    co_return co_await std::get<Async>(body_)(std::move(arguments), std::move(context));
  } catch (...) {
    thrown = std::current_exception();
  }
  co_return ToolReply{.answer = Thrown(std::move(thrown))};
}

asio::awaitable<ToolReply> CallPooled(asio::any_io_executor pool, std::function<ToolReply()> work) {
  auto reply =
      co_await AwaitPooled<ToolReply>(pool, [work = std::move(work)] { return Guarded(work); });
  if (reply) co_return *std::move(reply);
  co_return ToolReply{
      .answer = ToolRaised{.type = "CancelledError", .message = "the call was cancelled"}};
}

}  // namespace caisson
