#include "runs/run_news.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <string>
#include <thread>
#include <utility>

#include "base/low_priority_pool.h"
#include "base/spawn.h"

namespace caisson {
namespace {

class RunNewsTest : public testing::Test {
 protected:
  RunView Whole(std::optional<asio::any_io_executor> pool = {}) {
    asio::io_context loop;
    auto done = SpawnFuture(loop.get_executor(), WholeView(news_.Look(), std::move(pool)));
    auto work = asio::make_work_guard(loop);
    std::thread thread([&] { loop.run(); });
    RunView view = done.get();
    work.reset();
    thread.join();
    return view;
  }
  void End(Outcome outcome) {
    news_.Publish([&](RunNews::State& state) {
      state.view.state = RunState::kFinished;
      state.outcome = std::make_shared<const Outcome>(std::move(outcome));
    });
  }

  const SystemClock clock_;
  RunNews news_{RunView{.id = RunId("run_1"), .code = "1+1"}, clock_};
};

TEST_F(RunNewsTest, ShowsTheOutputUpToNow) {
  EXPECT_EQ(news_.Hear(OutputStream::kStdout, "one"), "one");
  news_.Hear(OutputStream::kStderr, "error");
  const RunNews::State before = news_.Look();
  EXPECT_EQ(news_.Hear(OutputStream::kStdout, " two"), " two");
  EXPECT_EQ(before.stdout_text.str(), "one");
  const RunView view = Whole();
  EXPECT_EQ(view.outcome.stdout_text, "one two");
  EXPECT_EQ(view.outcome.stderr_text, "error");
  EXPECT_EQ(view.code, "1+1");
}

TEST_F(RunNewsTest, CodeThatBeginsAgainIsNotHeardTwice) {
  news_.Hear(OutputStream::kStdout, "abc");
  news_.Publish([](RunNews::State& state) { state.stdout_text = {}; });
  EXPECT_EQ(news_.Hear(OutputStream::kStdout, "ab"), "");
  EXPECT_EQ(news_.Hear(OutputStream::kStdout, "cd"), "d");
  EXPECT_EQ(Whole().outcome.stdout_text, "abcd");
}

TEST_F(RunNewsTest, AnEndedRunShowsItsOutcome) {
  news_.Hear(OutputStream::kStdout, "abc");
  EXPECT_FALSE(news_.Look().ended());
  End({.status = RunStatus::kCompleted, .stdout_text = "abcdef"});
  EXPECT_TRUE(news_.Look().ended());
  const RunView view = Whole();
  EXPECT_EQ(view.state, RunState::kFinished);
  EXPECT_EQ(view.outcome.stdout_text, "abcdef");
}

// An event loop would be blocked for as long as the copy takes.
TEST_F(RunNewsTest, LargeOutcomesAreSharedAndCopiedInThePool) {
  End({.stdout_text = std::string(1 << 20, 'x')});
  EXPECT_EQ(news_.Look().outcome, news_.Look().outcome);
  EXPECT_TRUE(news_.Look().view.outcome.stdout_text.empty());
  asio::io_context pool;  // Nobody runs it yet.
  asio::io_context loop;
  auto view = SpawnFuture(loop.get_executor(), WholeView(news_.Look(), pool.get_executor()));
  loop.run_one();
  loop.poll();
  EXPECT_NE(view.wait_for(std::chrono::seconds(0)), std::future_status::ready);
  EXPECT_GT(pool.run_one(), 0U);
  loop.restart();
  loop.run();
  EXPECT_EQ(view.get().outcome.stdout_text.size(), std::size_t{1} << 20);
}

TEST_F(RunNewsTest, AwaitReturnsAtOnceIfThereIsNewsAlready) {
  const std::uint64_t seen = news_.Look().version;
  news_.Publish([](RunNews::State& state) { state.gone = true; });
  asio::io_context loop;
  auto reason = SpawnFuture(loop.get_executor(),
                            news_.Await(seen, std::chrono::steady_clock::time_point::max()));
  loop.run();
  EXPECT_EQ(reason.get(), Wakeup::Reason::kWoken);
}

}  // namespace
}  // namespace caisson
