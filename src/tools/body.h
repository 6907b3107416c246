// A ToolBody is what a tool does, in one of three ways:
//
//   Inline(f)          f(arguments) on the executor of the run, which stands still meanwhile: microseconds only
//   Pooled(pool, f)    f(arguments) on a thread of `pool`; may block
//   Awaitable(f)       co_await f(arguments) on the executor of the run
//
// f returns a Value, a Result<Value> or a ToolAnswer. What it throws becomes a ToolRaised.
//
// Trust     Arguments are checked against the schema, nothing more. Bodies are the host's own code.
// Threads   As above; a body may be called many times at once.
// Lifetime  Copies share f. An awaitable must end soon after it is cancelled. A pooled call that was
//           cancelled goes on by itself, and nobody hears of it; the pool must be joined before the
//           executors that called it go.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <exception>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/result.h"
#include "engine/engine.h"

namespace caisson {

// The Python exception that says the same: TypeError, TimeoutError, ...
ToolRaised ToRaised(const Error& error);

class ToolBody {
 public:
  using Immediate = std::function<ToolAnswer(const Dict&)>;
  using Async = std::function<asio::awaitable<ToolAnswer>(Dict)>;

  explicit ToolBody(Immediate immediate) : body_(std::move(immediate)) {}
  explicit ToolBody(Async async) : body_(std::move(async)) {}

  bool is_immediate() const { return std::holds_alternative<Immediate>(body_); }
  // Neither throws.
  ToolAnswer CallNow(const Dict& arguments) const;
  asio::awaitable<ToolAnswer> Call(Dict arguments) const;

 private:
  std::variant<Immediate, Async> body_;
};

inline ToolAnswer ToAnswer(Value value) {
  return value;
}
inline ToolAnswer ToAnswer(ToolAnswer answer) {
  return answer;
}
inline ToolAnswer ToAnswer(Result<Value> result) {
  if (!result) return ToRaised(result.error());
  return *std::move(result);
}

template <typename F>
ToolBody Inline(F f) {
  return ToolBody(
      ToolBody::Immediate([f = std::move(f)](const Dict& given) { return ToAnswer(f(given)); }));
}

template <typename F>
ToolBody Awaitable(F f) {
  auto shared = std::make_shared<const F>(std::move(f));
  return ToolBody(ToolBody::Async([shared](Dict given) -> asio::awaitable<ToolAnswer> {
    const auto kept = shared;  // A coroutine outlives the lambda that made it.
    co_return ToAnswer(co_await (*kept)(std::move(given)));
  }));
}

// Runs `work` on `pool` and waits for it, or for cancellation.
asio::awaitable<ToolAnswer> AwaitPooled(asio::any_io_executor pool,
                                        std::function<ToolAnswer()> work);

template <typename F>
ToolBody Pooled(asio::any_io_executor pool, F f) {
  auto shared = std::make_shared<const F>(std::move(f));
  return ToolBody(ToolBody::Async([pool, shared](Dict given) {
    return AwaitPooled(pool,
                       [shared, given = std::move(given)] { return ToAnswer((*shared)(given)); });
  }));
}

}  // namespace caisson
