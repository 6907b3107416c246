#include "base/spawn.h"

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <stdexcept>
#include <thread>

namespace caisson {
namespace {

constexpr auto kQuietly = asio::as_tuple(asio::use_awaitable);
constexpr int kRounds = 2000;
constexpr int kRequests = 64;  // Enough that some requests come before the end and some after it.

asio::awaitable<void> Throw() {
  throw std::runtime_error("no");
  co_return;
}

asio::awaitable<bool> IsCancelled() {
  const auto state = co_await asio::this_coro::cancellation_state;
  co_return state.cancelled() != asio::cancellation_type::none;
}

// The test's thread runs `loop_`, step by step where the order matters.
class SpawnTest : public ::testing::Test {
 protected:
  // Ends when `event_` or this coroutine is cancelled.
  asio::awaitable<void> AwaitEvent() {
    co_await asio::this_coro::throw_if_cancelled(false);
    co_await event_.async_wait(kQuietly);
    cancelled_ = co_await IsCancelled();
  }

  asio::io_context loop_{1};
  asio::steady_timer event_{loop_, asio::steady_timer::time_point::max()};
  bool cancelled_ = false;
};

TEST_F(SpawnTest, TheEndIsReported) {
  bool ended = false;
  event_.expires_after({});
  Spawn(loop_.get_executor(), AwaitEvent(), [&] { ended = true; });
  loop_.run();
  EXPECT_TRUE(ended);
}

TEST_F(SpawnTest, AnExceptionGoesToAnOnEndThatTakesIt) {
  std::exception_ptr thrown;
  Spawn(loop_.get_executor(), Throw(), [&](std::exception_ptr what) { thrown = std::move(what); });
  loop_.run();
  EXPECT_THROW(std::rethrow_exception(thrown), std::runtime_error);
}

TEST_F(SpawnTest, AnExceptionThatNobodyTakesEndsTheProgram) {
  const auto run = [&](auto... on_end) {
    Spawn(loop_.get_executor(), Throw(), on_end...);
    loop_.run();
  };
  EXPECT_DEATH(run(), "no");
  EXPECT_DEATH(run([] {}), "no");
}

TEST_F(SpawnTest, AStopCancelsTheWork) {
  const Stop stop(loop_.get_executor());
  bool ended = false;
  Spawn(stop, AwaitEvent(), [&] { ended = true; });
  loop_.poll();
  EXPECT_FALSE(ended);
  stop.Request();
  loop_.run();
  EXPECT_TRUE(ended);
  EXPECT_TRUE(cancelled_);
}

TEST_F(SpawnTest, WorkThatIsStoppedBeforeItsStartIsCancelledAtItsFirstWait) {
  const Stop stop(loop_.get_executor());
  stop.Request();
  loop_.poll();
  Spawn(stop, AwaitEvent());
  loop_.restart();
  loop_.run();
  EXPECT_TRUE(cancelled_);
}

// The request is in the queue behind the end of the work.
TEST_F(SpawnTest, ARequestAfterTheEndIsIgnored) {
  bool ended = false;
  {
    const Stop stop(loop_.get_executor());
    Spawn(stop, AwaitEvent(), [&] { ended = true; });
    loop_.poll();
    event_.cancel();
    stop.Request();
  }
  loop_.restart();
  loop_.run();
  EXPECT_TRUE(ended);
  EXPECT_FALSE(cancelled_);
}

TEST_F(SpawnTest, ACoroutineCanBeStoppedByAnotherThreadAtTheMomentItEnds) {
  asio::thread_pool there{1};
  const auto work = []() -> asio::awaitable<void> {
    co_await asio::this_coro::throw_if_cancelled(false);
    co_await asio::post(asio::use_awaitable);
  };
  for (int round = 0; round < kRounds; ++round) {
    std::atomic<bool> ended = false;
    const Stop stop(there.get_executor());
    std::thread requesting([&] {
      for (int i = 0; i < kRequests && !ended; ++i) stop.Request();
    });
    Spawn(stop, work(), [&] { ended = true; });
    requesting.join();
    while (!ended) std::this_thread::yield();
  }
}

TEST_F(SpawnTest, AFutureHasTheResultOrTheException) {
  asio::thread_pool there{1};
  // Has no default constructor, like Result.
  struct Number {
    explicit Number(int given) : value(given) {}
    int value;
  };
  const auto seven = []() -> asio::awaitable<Number> { co_return Number(7); };
  EXPECT_EQ(SpawnFuture(there.get_executor(), seven()).get().value, 7);
  EXPECT_EQ(WaitFor(there.get_executor(), seven()).value, 7);
  EXPECT_THROW(WaitFor(there.get_executor(), Throw()), std::runtime_error);
}

// The frame of the work is gone when the future is ready, so the work may refer to the caller's
// variables to its very end.
TEST_F(SpawnTest, AFutureIsReadyWhenTheWorkIsGone) {
  asio::thread_pool there{1};
  struct Last {
    ~Last() { ++count; }
    int& count;
  };
  for (int round = 0; round < kRounds; ++round) {
    int gone = 0;
    const auto work = [&]() -> asio::awaitable<int> {
      const Last last{gone};
      co_return 7;
    };
    EXPECT_EQ(WaitFor(there.get_executor(), work()), 7);
    ASSERT_EQ(gone, 1);
  }
}

}  // namespace
}  // namespace caisson
