// A ToolBody is the implementation of a tool, in one of three forms:
//
//   Inline(f)          f(arguments) on the run's executor, which blocks: microseconds only
//   Pooled(pool, f)    f(arguments) on a thread of `pool`; may block
//   Awaitable(f)       co_await f(arguments) on the run's executor
//
// An awaitable may also take a CallContext. f returns a Value, a Result<Value>, a ToolAnswer or a
// ToolReply. An exception of f becomes a ToolRaised.
//
// Trust     Arguments are checked against the schema, nothing more. Bodies are the host's own code.
// Threads   As above; a body may be called many times at once.
// Lifetime  Copies share f. An awaitable must end soon after it is cancelled. A cancelled pooled
//           call continues and its result is dropped; the pool must be joined before the calling
//           executors are destroyed.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "caller/caller_context.h"
#include "engine/engine.h"
#include "tools/content.h"
#include "tools/progress.h"

namespace caisson {

// Returns the corresponding Python exception: TypeError, TimeoutError, ...
ToolRaised ToRaised(const Error& error);

// The answer of a tool to code, and its form for a model if that is not the usual one (ToContents).
struct ToolReply {
  ToolAnswer answer;
  std::optional<std::vector<Content>> contents{};
};

// Records that the effect of a call begins now (I6). The record is durable on return. Returns false
// if the effect must not begin.
using StartEffect = std::function<asio::awaitable<bool>()>;

// Data about a call that a body may use besides its arguments.
struct CallContext {
  std::shared_ptr<const CallerContext> caller{};  // The session it acts for; null: none.
  std::string idempotency_key{};                  // Equal for repetitions of the same call (I6).
  OnProgress on_progress{};                       // Receives progress reports; may be empty.
  StartEffect start{};  // For a body that starts itself, before its effect; may be empty.
};

class ToolBody {
 public:
  // Fails with kInvalidArgument or kPermissionDenied and says what to change if the body cannot use
  // these arguments.
  using Check = std::function<Result<void>(const Dict&)>;
  using Immediate = std::function<ToolReply(const Dict&)>;
  using Async = std::function<asio::awaitable<ToolReply>(Dict, CallContext)>;

  explicit ToolBody(Immediate immediate) : body_(std::move(immediate)) {}
  explicit ToolBody(Async async) : body_(std::move(async)) {}

  // Returns this body as one that waits for its turn and then calls CallContext::start itself; it
  // has no effect before that.
  ToolBody StartingItself() && {
    starts_itself_ = true;
    return std::move(*this);
  }

  bool starts_itself() const { return starts_itself_; }
  bool is_immediate() const { return std::holds_alternative<Immediate>(body_); }
  // Returns this body with a check of its arguments as soon as a call is made, before an approval
  // is requested.
  ToolBody Checking(Check check) &&;
  Result<void> CheckArguments(const Dict& arguments) const;

  // Does not throw; neither does the other one.
  ToolReply CallNow(const Dict& arguments) const;
  asio::awaitable<ToolReply> Call(Dict arguments, CallContext context) const;

 private:
  std::variant<Immediate, Async> body_;
  Check check_{};
  bool starts_itself_ = false;
};

// For bodies that send their arguments as JSON, inside a message with `levels_around` levels. Fails
// with kInvalidArgument if JSON cannot hold that message: NaN, bytes, keys that are not str, too
// many levels, too many digits of long ints.
Result<void> CheckJsonArguments(const Dict& arguments, int levels_around = 0);
ToolBody::Check JsonArgumentsCheck(int levels_around = 0);

inline ToolReply ToReply(Value value) {
  return {.answer = std::move(value)};
}
inline ToolReply ToReply(ToolAnswer answer) {
  return {.answer = std::move(answer)};
}
inline ToolReply ToReply(Result<Value> result) {
  if (!result) return {.answer = ToRaised(result.error())};
  return {.answer = *std::move(result)};
}
inline ToolReply ToReply(ToolReply reply) {
  return reply;
}

template <typename F>
ToolBody Inline(F f) {
  return ToolBody(
      ToolBody::Immediate([f = std::move(f)](const Dict& given) { return ToReply(f(given)); }));
}

template <typename F>
ToolBody Awaitable(F f) {
  auto shared = std::make_shared<const F>(std::move(f));
  return ToolBody(
      ToolBody::Async([shared](Dict given, CallContext context) -> asio::awaitable<ToolReply> {
        // A coroutine outlives the lambda that made it.
        const auto kept = shared;  // NOLINT(performance-unnecessary-copy-initialization)
        if constexpr (std::is_invocable_v<const F&, Dict, CallContext>) {
          co_return ToReply(co_await (*kept)(std::move(given), std::move(context)));
        } else {
          co_return ToReply(co_await (*kept)(std::move(given)));
        }
      }));
}

asio::awaitable<ToolReply> CallPooled(asio::any_io_executor pool, std::function<ToolReply()> work);

template <typename F>
ToolBody Pooled(asio::any_io_executor pool, F f) {
  auto shared = std::make_shared<const F>(std::move(f));
  return ToolBody(ToolBody::Async([pool, shared](Dict given, const CallContext&) {
    return CallPooled(pool,
                      [shared, given = std::move(given)] { return ToReply((*shared)(given)); });
  }));
}

}  // namespace caisson
