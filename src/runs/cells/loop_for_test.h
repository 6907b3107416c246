// What the tests of this folder share: coroutines run to their end, tools and scripts in a line.
//
// Trust     For tests.
// Threads   One.
// Lifetime  The loop outlives what runs in it.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/spawn.h"
#include "engine/fake/fake_engine.h"
#include "runs/cells/code_runner.h"
#include "tools/tool.h"

namespace caisson {

class TestLoop {
 public:
  asio::io_context& context() { return context_; }

  // Starts `work`, which goes on whenever the loop runs. Whatever it throws fails the test program.
  void Start(asio::awaitable<void> work) { Spawn(context_.get_executor(), std::move(work)); }
  // Runs until there is nothing to do but wait.
  void Poll() {
    context_.restart();
    context_.poll();
  }
  // Runs `work`, and whatever was started, to its end.
  template <typename T>
  T Await(asio::awaitable<T> work) {
    std::optional<T> result;
    const auto keep = [&]() -> asio::awaitable<void> { result.emplace(co_await std::move(work)); };
    Start(keep());
    context_.restart();
    context_.run();
    return *std::move(result);
  }
  void Await(asio::awaitable<void> work) {
    bool ended = false;
    const auto note = [&]() -> asio::awaitable<void> {
      co_await std::move(work);
      ended = true;
    };
    Start(note());
    context_.restart();
    context_.run();
    EXPECT_TRUE(ended);
  }

 private:
  asio::io_context context_;
};

inline std::shared_ptr<const Tool> TestTool(std::string name, Approval approval = {},
                                            ToolBody body = Inline([](const Dict&) {
                                              return Value(std::string("done"));
                                            })) {
  return *Tool::Make({.name = std::move(name), .approval = std::move(approval)}, std::move(body));
}

inline FakeScript Completes(std::string text = {}) {
  return {.steps = {FakeOutput{.text = std::move(text)}},
          .outcome = {.status = RunStatus::kCompleted, .reason = RunReason::kReturned}};
}
// Waits in a call until it is answered or cancelled.
inline FakeScript Calls(std::string tool) {
  return {.steps = {FakeCall{.tool = std::move(tool)}},
          .outcome = {.status = RunStatus::kCompleted, .reason = RunReason::kReturned}};
}
inline FakeScript TimesOut() {
  return {.outcome = {.status = RunStatus::kLimit, .reason = RunReason::kWallTime},
          .loses_state = true};
}

}  // namespace caisson
