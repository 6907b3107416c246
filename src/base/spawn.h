// Spawn starts a coroutine. A Stop cancels a started coroutine.
//
// Use these instead of Asio's co_spawn, awaitable_operators and parallel_group, which the layer
// check refuses outside of this folder. When a coroutine is cancelled, Asio (Boost 1.81) gives the
// coroutine's executor a bare pointer to a signal. The signal is freed when the coroutine ends. If
// that happens before the executor uses the pointer, the program crashes. A Stop shares ownership
// of its signal, and ignores a request after the end.
//
// Trust     Has none of its own.
// Threads   Any. The executor of a Stop must run one handler at a time (a lane, a strand).
// Lifetime  The executor's context outlives the coroutine and every copy of its Stop.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <concepts>
#include <exception>
#include <future>
#include <memory>
#include <type_traits>
#include <utility>

namespace caisson {

namespace asio = boost::asio;

// Copies of a Stop cancel the same coroutine.
class Stop {
 public:
  explicit Stop(asio::any_io_executor executor)
      : executor_(std::move(executor)), work_(std::make_shared<Work>()) {}

  const asio::any_io_executor& executor() const { return executor_; }
  bool operator==(const Stop& other) const { return work_ == other.work_; }

  // Cancels the coroutine. If it has not started, it is cancelled when it first waits. After its
  // end: does nothing.
  void Request(asio::cancellation_type type = asio::cancellation_type::terminal) const {
    asio::post(executor_, [work = work_, type] { work->Cancel(type); });
  }

 private:
  // Used on the executor only. Owned by the copies of the Stop, the coroutine, and the queued
  // requests.
  struct Work {
    void Cancel(asio::cancellation_type type) {
      if (running) {
        signal.emit(type);
      } else {
        early |= type;
      }
    }

    asio::cancellation_signal signal;
    asio::cancellation_type early = asio::cancellation_type::none;
    bool running = false;
  };

  // A completion handler. It names no executor, because then Asio would forward its bare pointer
  // from within emit().
  template <typename OnEnd>
  struct End {
    using cancellation_slot_type = asio::cancellation_slot;
    cancellation_slot_type get_cancellation_slot() const noexcept { return work->signal.slot(); }

    void operator()(std::exception_ptr thrown) {
      work->running = false;
      on_end(std::move(thrown));
    }

    std::shared_ptr<Work> work;
    OnEnd on_end;
  };

  template <typename OnEnd>
  void Start(asio::awaitable<void> coroutine, OnEnd on_end) const;
  template <typename OnEnd>
  friend void Spawn(const Stop& stop, asio::awaitable<void> work, OnEnd on_end);

  asio::any_io_executor executor_;
  std::shared_ptr<Work> work_;
};

template <typename OnEnd>
void Stop::Start(asio::awaitable<void> coroutine, OnEnd on_end) const {
  // Asio keeps this object in the outermost frame of the coroutine, so that the signal is freed
  // last.
  auto begin = [work = work_, coroutine = std::move(coroutine)]() mutable {
    return std::move(coroutine);
  };
  // Runs on the executor, because requests use the signal there.
  asio::dispatch(executor_, [executor = executor_, work = work_, begin = std::move(begin),
                             end = End<OnEnd>{work_, std::move(on_end)}]() mutable {
    work->running = true;
    asio::co_spawn(executor, std::move(begin), std::move(end));
    if (work->early != asio::cancellation_type::none) work->Cancel(work->early);
  });
}

namespace internal {

// Terminates the program if there is an exception. The runtime then prints the exception.
inline void MustNotThrow(const std::exception_ptr& thrown) noexcept {
  if (thrown) std::rethrow_exception(thrown);
}

// Converts on_end() into on_end(std::exception_ptr).
template <typename OnEnd>
auto TakingException(OnEnd on_end) {
  if constexpr (std::is_invocable_v<OnEnd&, std::exception_ptr>) {
    return on_end;
  } else {
    return [on_end = std::move(on_end)](const std::exception_ptr& thrown) mutable {
      MustNotThrow(thrown);
      on_end();
    };
  }
}

// Keeps the function alive in the coroutine's own frame.
template <typename Function>
std::invoke_result_t<Function&> Call(Function function) {
  co_return co_await function();
}

}  // namespace internal

// Returns whether the calling coroutine was cancelled. A wait that begins after the cancellation is
// not cancelled: a coroutine that Asio does not end with an exception (throw_if_cancelled) asks
// this before it waits.
inline asio::awaitable<bool> IsCancelled() {
  const auto state = co_await asio::this_coro::cancellation_state;
  co_return state.cancelled() != asio::cancellation_type::none;
}

// Runs `work` on the executor. At the end, calls on_end(std::exception_ptr) or on_end() there. If
// `on_end` does not take the exception, an exception terminates the program.
template <typename OnEnd>
void Spawn(const asio::any_io_executor& executor, asio::awaitable<void> work, OnEnd on_end) {
  asio::co_spawn(executor, std::move(work), internal::TakingException(std::move(on_end)));
}
inline void Spawn(const asio::any_io_executor& executor, asio::awaitable<void> work) {
  Spawn(executor, std::move(work), internal::MustNotThrow);
}

// The same on the executor of `stop`, which can cancel the work. Use each Stop for one Spawn only.
template <typename OnEnd>
void Spawn(const Stop& stop, asio::awaitable<void> work, OnEnd on_end) {
  stop.Start(std::move(work), internal::TakingException(std::move(on_end)));
}
inline void Spawn(const Stop& stop, asio::awaitable<void> work) {
  Spawn(stop, std::move(work), internal::MustNotThrow);
}

// Runs `work` on the executor. The future receives its result or its exception.
template <typename T>
std::future<T> SpawnFuture(const asio::any_io_executor& executor, asio::awaitable<T> work) {
  std::promise<T> promise;
  auto future = promise.get_future();
  const auto fulfil = [](std::promise<T> result,
                         asio::awaitable<T> coroutine) -> asio::awaitable<void> {
    try {
      if constexpr (std::is_void_v<T>) {
        co_await std::move(coroutine);
        result.set_value();
      } else {
        T value =
            // The coroutine's frame must be gone before the future is ready.
            co_await std::move(coroutine);
        result.set_value(std::move(value));
      }
    } catch (...) {
      result.set_exception(std::current_exception());
    }
  };
  Spawn(executor, fulfil(std::move(promise), std::move(work)));
  return future;
}

// The same for a function that returns a coroutine, such as a lambda with captures. The function
// lives as long as the coroutine.
template <std::invocable Work, typename... OnEnd>
void Spawn(const auto& where, Work work, OnEnd... on_end) {
  Spawn(where, internal::Call(std::move(work)), std::move(on_end)...);
}
template <std::invocable Work>
auto SpawnFuture(const asio::any_io_executor& executor, Work work) {
  return SpawnFuture(executor, internal::Call(std::move(work)));
}

// Blocks until `work` has ended on the executor. Must not be called on a thread of that executor.
template <typename T>
T WaitFor(const asio::any_io_executor& executor, asio::awaitable<T> work) {
  return SpawnFuture(executor, std::move(work)).get();
}

}  // namespace caisson
