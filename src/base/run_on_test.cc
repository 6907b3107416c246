#include "base/run_on.h"

#include <gtest/gtest.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <stdexcept>
#include <thread>

namespace caisson {
namespace {

// Two threads: `here` is the test's own, `there` is where the work is done.
class RunOnTest : public ::testing::Test {
 protected:
  template <typename F>
  void Here(F work) {
    asio::co_spawn(here_, std::move(work), [](const std::exception_ptr& thrown) {
      if (thrown) std::rethrow_exception(thrown);
    });
    here_.restart();
    here_.run();
  }

  asio::io_context here_{1};
  asio::thread_pool there_{1};
};

TEST_F(RunOnTest, WorkIsDoneThereAndTheCallerGoesOnHere) {
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

TEST_F(RunOnTest, WhatTheWorkThrowsIsThrownHere) {
  Here([&]() -> asio::awaitable<void> {
    const auto fail = []() -> asio::awaitable<int> {
      throw std::runtime_error("no");
      co_return 1;
    };
    EXPECT_THROW((void)co_await RunOn(there_.get_executor(), fail()), std::runtime_error);
    const auto call = []() -> int { throw std::runtime_error("no"); };
    EXPECT_THROW((void)co_await CallOn(there_.get_executor(), call), std::runtime_error);
  });
}

TEST_F(RunOnTest, CancellingTheWaitCancelsTheWork) {
  asio::cancellation_signal stop;
  bool aborted = false;
  const auto sleep = [&]() -> asio::awaitable<void> {
    co_await asio::this_coro::throw_if_cancelled(false);
    asio::post(here_, [&] { stop.emit(asio::cancellation_type::terminal); });
    asio::steady_timer forever(there_, asio::steady_timer::time_point::max());
    co_await forever.async_wait(asio::as_tuple(asio::use_awaitable));
    aborted = true;
  };
  const auto wait = [&]() -> asio::awaitable<void> {
    co_await asio::this_coro::throw_if_cancelled(false);
    co_await RunOn(there_.get_executor(), sleep());
  };
  asio::co_spawn(here_, wait, asio::bind_cancellation_slot(stop.slot(), asio::detached));
  here_.run();
  EXPECT_TRUE(aborted);
}

// What the caller does next may be to end, and its place with it, while the work's thread is still busy leaving.
TEST_F(RunOnTest, TheCallersPlaceMayBeGoneRightAfter) {
  for (int round = 0; round < 2000; ++round) {
    asio::io_context home{1};
    const auto work = []() -> asio::awaitable<int> { co_return 7; };
    const auto wait = [&]() -> asio::awaitable<void> {
      EXPECT_EQ(co_await RunOn(there_.get_executor(), work()), 7);
      EXPECT_EQ(co_await CallOn(there_.get_executor(), [] { return 7; }), 7);
    };
    asio::co_spawn(asio::make_strand(home), wait, asio::detached);
    home.run();
  }
}

// The signal travels while the work ends: it must find either the work or nothing.
TEST_F(RunOnTest, WorkThatEndsWhileItIsCancelled) {
  for (int round = 0; round < 2000; ++round) {
    asio::cancellation_signal stop;
    bool waiting = true;
    const auto work = []() -> asio::awaitable<int> { co_return 7; };
    const auto wait = [&]() -> asio::awaitable<void> {
      co_await asio::this_coro::throw_if_cancelled(false);
      EXPECT_EQ(co_await RunOn(there_.get_executor(), work()), 7);
      waiting = false;
    };
    const auto flood = [&]() -> asio::awaitable<void> {
      while (waiting) {
        stop.emit(asio::cancellation_type::terminal);
        co_await asio::post(asio::use_awaitable);
      }
    };
    asio::co_spawn(here_, wait, asio::bind_cancellation_slot(stop.slot(), asio::detached));
    asio::co_spawn(here_, flood, asio::detached);
    here_.restart();
    here_.run();
    ASSERT_FALSE(waiting);
  }
}

}  // namespace
}  // namespace caisson
