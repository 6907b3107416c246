#include "base/run_on.h"

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <stdexcept>
#include <thread>

namespace caisson {
namespace {

constexpr auto kQuietly = asio::as_tuple(asio::use_awaitable);
constexpr int kRounds = 2000;
constexpr int kRequests = 64;  // Enough that some requests come before the end and some after it.

asio::awaitable<int> Seven() {
  co_return 7;
}

asio::awaitable<int> ThrowInstead() {
  throw std::runtime_error("no");
  co_return 1;
}

asio::awaitable<bool> IsCancelled() {
  const auto state = co_await asio::this_coro::cancellation_state;
  co_return state.cancelled() != asio::cancellation_type::none;
}

// Ends only when it is cancelled.
asio::awaitable<void> Forever() {
  co_await asio::this_coro::throw_if_cancelled(false);
  asio::steady_timer never(co_await asio::this_coro::executor,
                           asio::steady_timer::time_point::max());
  co_await never.async_wait(kQuietly);
}

// Two threads: `here` is the test's thread; `there` runs the work.
class RunOnTest : public ::testing::Test {
 protected:
  template <typename F>
  void Here(F work) {
    Spawn(here_.get_executor(), work());
    here_.restart();
    here_.run();
  }

  // Awaits `wait` here while another thread requests its stop.
  void StopFromAnotherThreadAtTheEnd(const std::function<asio::awaitable<void>()>& wait) {
    const auto quietly = [&]() -> asio::awaitable<void> {
      co_await asio::this_coro::throw_if_cancelled(false);
      co_await wait();
    };
    for (int round = 0; round < kRounds; ++round) {
      std::atomic<bool> ended = false;
      const Stop stop(asio::make_strand(here_));
      Spawn(stop, quietly(), [&] { ended = true; });
      std::thread requesting([&] {
        for (int i = 0; i < kRequests && !ended; ++i) stop.Request();
      });
      here_.restart();
      while (!ended) here_.run_one();
      requesting.join();
      here_.restart();
      here_.poll();
    }
  }

  asio::io_context here_{1};
  asio::thread_pool there_{1};
};

TEST_F(RunOnTest, WorkRunsThereAndTheCallerContinuesHere) {
  Here([&]() -> asio::awaitable<void> {
    const auto home = std::this_thread::get_id();
    const auto where = [&]() -> asio::awaitable<std::thread::id> {
      co_return std::this_thread::get_id();
    };
    EXPECT_NE(co_await RunOn(there_.get_executor(), where()), home);
    EXPECT_EQ(std::this_thread::get_id(), home);
    EXPECT_NE(co_await CallOn(there_.get_executor(), [] { return std::this_thread::get_id(); }),
              home);
    EXPECT_EQ(std::this_thread::get_id(), home);
  });
}

TEST_F(RunOnTest, AnExceptionOfTheWorkIsRethrownToTheCaller) {
  Here([&]() -> asio::awaitable<void> {
    EXPECT_THROW((void)co_await RunOn(there_.get_executor(), ThrowInstead()), std::runtime_error);
    const auto call = []() -> int { throw std::runtime_error("no"); };
    EXPECT_THROW((void)co_await CallOn(there_.get_executor(), call), std::runtime_error);
  });
}

TEST_F(RunOnTest, CancellingTheCallerCancelsTheWork) {
  const Stop stop(here_.get_executor());
  bool aborted = false;
  const auto sleep = [&]() -> asio::awaitable<void> {
    stop.Request();
    co_await Forever();
    aborted = true;
  };
  const auto wait = [&]() -> asio::awaitable<void> {
    co_await asio::this_coro::throw_if_cancelled(false);
    co_await RunOn(there_.get_executor(), sleep());
  };
  Spawn(stop, wait());
  here_.run();
  EXPECT_TRUE(aborted);
}

TEST_F(RunOnTest, AStopOfItsOwnCancelsTheWork) {
  Here([&]() -> asio::awaitable<void> {
    const Stop stop(there_.get_executor());
    const auto sleep = [&]() -> asio::awaitable<int> {
      stop.Request();
      co_await Forever();
      co_return 7;
    };
    EXPECT_EQ(co_await RunOn(stop, sleep()), 7);
  });
}

// The caller and its context may end at once, while the work's thread is still leaving RunOn.
TEST_F(RunOnTest, TheCallersContextMayBeGoneRightAfter) {
  for (int round = 0; round < kRounds; ++round) {
    asio::io_context home{1};
    const auto wait = [&]() -> asio::awaitable<void> {
      EXPECT_EQ(co_await RunOn(there_.get_executor(), Seven()), 7);
      EXPECT_EQ(co_await CallOn(there_.get_executor(), [] { return 7; }), 7);
    };
    Spawn(asio::make_strand(home), wait());
    home.run();
  }
}

// The cancellation is on its way to the work when the work ends and the caller continues.
TEST_F(RunOnTest, ACancellationThatFindsNoWorkIsIgnored) {
  asio::io_context there{1};
  asio::steady_timer event(there, asio::steady_timer::time_point::max());
  bool done = false;
  const auto work = [&]() -> asio::awaitable<int> {
    co_await event.async_wait(kQuietly);
    co_return 7;
  };
  const auto wait = [&]() -> asio::awaitable<void> {
    co_await asio::this_coro::throw_if_cancelled(false);
    EXPECT_EQ(co_await RunOn(there.get_executor(), work()), 7);
    done = true;
  };
  const Stop stop(here_.get_executor());
  Spawn(stop, wait());
  here_.poll();
  there.poll();
  event.cancel();  // This is first in the queue there; the cancellation is second.
  stop.Request();
  here_.poll();
  while (!done) {
    there.poll_one();
    here_.poll();
  }
  there.poll();
}

TEST_F(RunOnTest, RunOnIsCancelledByAnotherThreadAtTheMomentItEnds) {
  StopFromAnotherThreadAtTheEnd([&]() -> asio::awaitable<void> {
    EXPECT_EQ(co_await RunOn(there_.get_executor(), Seven()), 7);
  });
}

class RaceTest : public RunOnTest {
 protected:
  asio::awaitable<void> AwaitEvent() {
    co_await asio::this_coro::throw_if_cancelled(false);
    co_await event_.async_wait(kQuietly);
  }

  // Cancels the caller of `wait` when the end of `wait` is already in the queue.
  void CancelBehindTheEnd(const std::function<asio::awaitable<void>()>& wait) {
    const auto quietly = [&]() -> asio::awaitable<void> {
      co_await asio::this_coro::throw_if_cancelled(false);
      co_await wait();
    };
    bool ended = false;
    {
      const Stop stop(here_.get_executor());
      Spawn(stop, quietly(), [&] { ended = true; });
      here_.poll();
      event_.cancel();
      stop.Request();
    }
    here_.restart();
    here_.run();
    EXPECT_TRUE(ended);
  }

  asio::steady_timer event_{here_, asio::steady_timer::time_point::max()};
};

TEST_F(RaceTest, TheFasterOneWins) {
  Here([&]() -> asio::awaitable<void> {
    EXPECT_EQ(co_await Race(Seven(), Forever()), 7);
    const auto late = []() -> asio::awaitable<int> {
      co_await Forever();
      co_return 7;
    };
    EXPECT_EQ(co_await Race(late(), Seven()), std::nullopt);
    co_await Race(Forever(), asio::post(asio::use_awaitable));
  });
}

TEST_F(RaceTest, AnExceptionOfTheFasterOneIsRethrown) {
  Here([&]() -> asio::awaitable<void> {
    EXPECT_THROW((void)co_await Race(ThrowInstead(), Forever()), std::runtime_error);
    const auto throw_late = []() -> asio::awaitable<int> {
      co_await Forever();
      co_return co_await ThrowInstead();
    };
    EXPECT_EQ(co_await Race(Seven(), throw_late()), 7);
  });
}

TEST_F(RaceTest, CancellingTheCallerCancelsBoth) {
  const Stop stop(here_.get_executor());
  int ended = 0;
  const auto sleep = [&]() -> asio::awaitable<void> {
    co_await Forever();
    ++ended;
  };
  const auto wait = [&]() -> asio::awaitable<void> {
    co_await asio::this_coro::throw_if_cancelled(false);
    co_await Race(sleep(), sleep());
    EXPECT_TRUE(co_await IsCancelled());
  };
  Spawn(stop, wait());
  here_.poll();
  stop.Request();
  here_.run();
  EXPECT_EQ(ended, 2);
}

TEST_F(RaceTest, ARaceThatEndsIgnoresACancellation) {
  CancelBehindTheEnd([&] { return Race(AwaitEvent(), AwaitEvent()); });
}

TEST_F(RaceTest, ARaceIsCancelledByAnotherThreadAtTheMomentItEnds) {
  StopFromAnotherThreadAtTheEnd(
      [&]() -> asio::awaitable<void> { static_cast<void>(co_await Race(Seven(), Forever())); });
}

TEST_F(RaceTest, BothRunToTheirEnds) {
  Here([&]() -> asio::awaitable<void> {
    int ended = 0;
    const auto wake = [&]() -> asio::awaitable<void> {
      event_.cancel();
      ++ended;
      co_return;
    };
    const auto sleep = [&]() -> asio::awaitable<void> {
      co_await AwaitEvent();
      ++ended;
    };
    co_await Both(sleep(), wake());
    EXPECT_EQ(ended, 2);
  });
}

TEST_F(RaceTest, IfOneOfBothThrowsTheOtherIsCancelled) {
  Here([&]() -> asio::awaitable<void> {
    const auto fail = []() -> asio::awaitable<void> { co_await ThrowInstead(); };
    const auto fail_late = [&]() -> asio::awaitable<void> {
      co_await asio::post(asio::use_awaitable);
      co_await fail();
    };
    EXPECT_THROW(co_await Both(fail(), Forever()), std::runtime_error);
    EXPECT_THROW(co_await Both(asio::post(asio::use_awaitable), fail_late()), std::runtime_error);
  });
}

TEST_F(RaceTest, BothThatEndIgnoreACancellation) {
  CancelBehindTheEnd([&] { return Both(AwaitEvent(), AwaitEvent()); });
}

TEST_F(RaceTest, BothAreCancelledByAnotherThreadAtTheMomentTheyEnd) {
  StopFromAnotherThreadAtTheEnd([&]() -> asio::awaitable<void> {
    co_await Both(asio::post(asio::use_awaitable), asio::post(asio::use_awaitable));
  });
}

}  // namespace
}  // namespace caisson
