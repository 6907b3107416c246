#include "tools/bridge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <map>

#include "base/spawn.h"
#include "engine/unread_answers.h"
#include "wire/json.h"

namespace caisson {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A cell that records its answers. Refuses answers of more than `max_bytes`, as engines do.
class RecordingCell final : public Cell, public UnreadAnswers {
 public:
  explicit RecordingCell(asio::any_io_executor executor) : executor_(std::move(executor)) {}

  asio::any_io_executor executor() const override { return executor_; }
  asio::awaitable<Result<Outcome>> Run(RunRequest, RunEvents&, AfterRun) override {
    co_return Error(ErrorCode::kInternal, "not here");
  }
  asio::awaitable<Result<Outcome>> Continue(RunEvents&, AfterRun) override {
    co_return Error(ErrorCode::kInternal, "not here");
  }
  asio::awaitable<Result<SavedCell>> Save(AfterSave) override {
    co_return Error(ErrorCode::kInternal, "not here");
  }
  void Cancel() override {}
  bool holds_state() const override { return false; }

  Result<void> AnswerAt(std::uint32_t seq, ToolAnswer answer, HostTime) override {
    std::string bytes;
    if (const auto* value = std::get_if<Value>(&answer)) TRY(EncodeValue(*value, bytes));
    if (bytes.size() > 1000) return Error(ErrorCode::kResourceExhausted, "too long");
    answers.emplace(seq, std::move(answer));
    order.push_back(seq);
    return {};
  }

  std::size_t unread_answer_bytes() const override { return unread; }

  std::size_t unread = 0;
  std::map<std::uint32_t, ToolAnswer> answers;
  std::vector<std::uint32_t> order;

 private:
  asio::any_io_executor executor_;
};

// Lets every call go ahead and records which were started.
class RecordingJournal final : public CallJournal {
 public:
  void Expect(std::uint32_t) override {}
  asio::awaitable<CallDecision> Before(JournaledCall call) override {
    if (call.refused) co_return Instead{*std::move(call.refused)};
    if (!call.needs_approval) co_return GoAhead{};
    asked.push_back(std::to_string(call.seq) + call.arguments->text);
    if (call.arguments->text == denied) co_return Instead{ToolDenied{"not two"}};
    co_return GoAhead{.consent = Consent::kGiven};
  }
  asio::awaitable<bool> Start(std::uint32_t seq) override {
    started.push_back(seq);
    co_return seq != refused;
  }
  asio::awaitable<std::optional<SystemTime>> After(std::uint32_t, const ToolAnswer&) override {
    co_return SystemTime{};
  }

  std::vector<std::uint32_t> started;
  std::vector<std::string> asked;  // "SEQ{arguments}" of the calls that need approval.
  std::optional<std::uint32_t> refused;
  std::string denied;
};

class ToolBridgeTest : public ::testing::Test {
 protected:
  void Add(ToolDefinition definition, ToolBody body) {
    definition.input_schema = *ParseJson(R"({"properties":{"x":{"type":"integer"}}})");
    ASSERT_TRUE(registry_.Add(*Tool::Make(std::move(definition), std::move(body))));
  }

  void Call(ToolBridge& bridge, std::uint32_t seq, std::string tool,
            std::string_view keywords = "{}") {
    bridge.OnCall({.seq = seq,
                   .tool = std::move(tool),
                   .keywords = std::get<Dict>(ParseJson(keywords)->variant())});
  }

  std::string Shown(std::uint32_t seq) const {
    const auto found = cell_.answers.find(seq);
    if (found == cell_.answers.end()) return "(none)";
    if (const auto* raised = std::get_if<ToolRaised>(&found->second)) {
      return raised->type + ": " + raised->message;
    }
    if (const auto* denied = std::get_if<ToolDenied>(&found->second))
      return "denied: " + denied->message;
    return *ToJson(std::get<Value>(found->second));
  }

  // A tool that answers when the test tells it to, and records its cancellation.
  ToolBody Held() {
    return Awaitable([this](Dict given) -> asio::awaitable<Value> {
      auto timer = std::make_shared<asio::steady_timer>(co_await asio::this_coro::executor,
                                                        asio::steady_timer::time_point::max());
      held_.push_back(timer);
      ++running_;
      most_running_ = std::max(most_running_, running_);
      co_await timer->async_wait(asio::as_tuple(asio::use_awaitable));
      --running_;
      const Value* x = given.Find("x");
      co_return x == nullptr ? Value() : *x;
    });
  }
  void Release(std::size_t index) { held_.at(index)->cancel(); }

  void Poll() {
    context_.restart();
    context_.poll();
  }

  void Close(ToolBridge& bridge) {
    bool closed = false;
    Spawn(context_.get_executor(), [&]() -> asio::awaitable<void> {
      co_await bridge.Close();
      closed = true;
    });
    context_.restart();
    context_.run();
    EXPECT_TRUE(closed);
  }

  asio::io_context context_;
  RecordingCell cell_{context_.get_executor()};
  ToolRegistry registry_;
  std::vector<std::shared_ptr<asio::steady_timer>> held_;
  int running_ = 0;
  int most_running_ = 0;
};

TEST_F(ToolBridgeTest, CallsAndAnswersWaitWhileTheCodeDoesNotRead) {
  int calls = 0;
  Add({.name = "held"}, Held());
  Add({.name = "now"}, Inline([&](const Dict&) {
        ++calls;
        return Value(true);
      }));
  ToolBridge bridge(cell_, registry_.Snapshot(), {});
  Call(bridge, 0, "held");
  Poll();
  cell_.unread = 2u << 20;
  Call(bridge, 1, "now");
  Release(0);
  Poll();
  EXPECT_EQ(calls, 0);
  EXPECT_TRUE(cell_.answers.empty());
  cell_.unread = 0;
  context_.restart();
  context_.run();
  EXPECT_EQ(calls, 1);
  EXPECT_THAT(cell_.order, ElementsAre(0, 1));
  Close(bridge);
}

TEST_F(ToolBridgeTest, AnswersThatWaitAreBounded) {
  Add({.name = "large"}, Awaitable([this](Dict) -> asio::awaitable<Value> {
        auto timer = std::make_shared<asio::steady_timer>(co_await asio::this_coro::executor,
                                                          asio::steady_timer::time_point::max());
        held_.push_back(timer);
        co_await timer->async_wait(asio::as_tuple(asio::use_awaitable));
        co_return Value(std::string(15u << 20, 'x'));
      }));
  ToolBridge bridge(cell_, registry_.Snapshot(), {});
  for (std::uint32_t seq = 0; seq < 3; ++seq) Call(bridge, seq, "large");
  Poll();
  cell_.unread = 2u << 20;
  for (std::size_t call = 0; call < 3; ++call) Release(call);
  Poll();
  EXPECT_TRUE(cell_.answers.empty());
  cell_.unread = 0;
  context_.restart();
  context_.run();
  EXPECT_THAT(cell_.order, ElementsAre(0, 1, 2));
  EXPECT_EQ(Shown(1), "LimitError: too long");  // This cell takes only short ones.
  EXPECT_THAT(Shown(2), HasSubstr("LimitError: the tool was called, but its answer has no room"));
  Close(bridge);
}

// A lane that watches its worker ends runs between two turns of its loop. The end of a call may be
// in the queue at that time.
TEST_F(ToolBridgeTest, ACallThatEndsWhileItsRunIsStoppedEndsOnce) {
  Add({.name = "held"}, Held());
  {
    ToolBridge bridge(cell_, registry_.Snapshot(), {.side_by_side = 2});
    for (std::uint32_t seq = 0; seq < 2; ++seq) Call(bridge, seq, "held");
    Poll();
    for (std::size_t call = 0; call < 2; ++call) Release(call);
  }
  Poll();
  EXPECT_EQ(running_, 0);
  EXPECT_EQ(Shown(0), "(none)");
}

TEST_F(ToolBridgeTest, OnlyStartedCallsAreUncertain) {
  Add({.name = "held"}, Held());
  ToolBridge bridge(cell_, registry_.Snapshot(), {.side_by_side = 2});
  for (std::uint32_t seq = 0; seq < 3; ++seq) Call(bridge, seq, "held");
  Poll();
  Release(0);
  Poll();
  EXPECT_EQ(Shown(0), "null");
  std::vector<OutcomeCall> calls{{.seq = 0, .tool = "held", .outcome = "returned"},
                                 {.seq = 1, .tool = "held", .outcome = "pending"},
                                 {.seq = 2, .tool = "held", .outcome = "pending"},
                                 {.seq = 3, .tool = "held", .outcome = "pending"}};
  Close(bridge);
  bridge.Explain(calls);
  EXPECT_EQ(calls[0].outcome, "returned");
  EXPECT_EQ(calls[1].outcome, "uncertain");
  EXPECT_EQ(calls[2].outcome, "uncertain");
  EXPECT_EQ(calls[3].outcome, "pending");
}

TEST_F(ToolBridgeTest, PositionalArgumentsGetTheirNames) {
  Add({.name = "echo"}, Inline([](const Dict& given) { return Value(given); }));
  ToolBridge bridge(cell_, registry_.Snapshot(), {});
  const auto call = [](std::string tool, Value argument) {
    return OutcomeCall{.tool = std::move(tool),
                       .arguments = WithPositional({}, List{{std::move(argument)}}),
                       .has_positional = true};
  };
  std::vector<OutcomeCall> calls{call("echo", std::int64_t{7}), call("echo", std::string("no")),
                                 call("none", std::int64_t{7})};
  bridge.Explain(calls);
  EXPECT_EQ(*ToJson(calls[0].arguments), R"({"x":7})");
  EXPECT_EQ(*ToJson(calls[1].arguments), R"({"*args":["no"]})");
  EXPECT_EQ(*ToJson(calls[2].arguments), R"({"*args":[7]})");
}

TEST_F(ToolBridgeTest, InlineToolsAnswerAtOnce) {
  Add({.name = "echo"}, Inline([](const Dict& given) { return Value(given); }));
  ToolBridge bridge(cell_, registry_.Snapshot(), {});
  Call(bridge, 0, "echo", R"({"x":1})");
  EXPECT_EQ(Shown(0), R"({"x":1})");
}

TEST_F(ToolBridgeTest, FailuresOfACallAreRaised) {
  Add({.name = "echo", .max_calls_per_run = 1},
      Inline([](const Dict& given) { return Value(given); }));
  Add({.name = "fails"}, Inline([](const Dict&) -> ToolAnswer {
        return ToolRaised{.type = "KeyError", .message = "no such thing"};
      }));
  ToolBridge bridge(cell_, registry_.Snapshot(), {});
  Call(bridge, 0, "ecko");
  Call(bridge, 1, "echo", R"({"x":"1"})");
  Call(bridge, 2, "echo");
  Call(bridge, 3, "echo");
  Call(bridge, 4, "fails");
  EXPECT_THAT(Shown(0),
              HasSubstr("LookupError: there is no tool \"ecko\"; did you mean \"echo\"?"));
  EXPECT_EQ(Shown(1),
            "TypeError: echo: /x: expected integer, got string. Call it as echo(x: int = ...)");
  EXPECT_EQ(Shown(2), "{}");
  EXPECT_THAT(Shown(3), HasSubstr("LimitError"));
  EXPECT_EQ(Shown(4), "KeyError: no such thing");
}

TEST_F(ToolBridgeTest, CallsRunSideBySideAndEndInAnyOrder) {
  Add({.name = "held"}, Held());
  ToolBridge bridge(cell_, registry_.Snapshot(), {});
  for (std::uint32_t i = 0; i < 3; ++i)
    Call(bridge, i, "held", "{\"x\":" + std::to_string(i) + "}");
  Poll();
  ASSERT_EQ(running_, 3);
  Release(2);
  Poll();
  Release(0);
  Poll();
  EXPECT_THAT(cell_.order, ElementsAre(2, 0));
  EXPECT_EQ(Shown(2), "2");
  EXPECT_EQ(Shown(1), "(none)");
  Close(bridge);
}

TEST_F(ToolBridgeTest, MoreThanTheNumberWaitTheirTurn) {
  Add({.name = "held"}, Held());
  ToolBridge bridge(cell_, registry_.Snapshot(), {.side_by_side = 2});
  for (std::uint32_t i = 0; i < 5; ++i) Call(bridge, i, "held");
  for (std::size_t i = 0; i < 5; ++i) {
    Poll();
    Release(i);
  }
  Poll();
  EXPECT_EQ(cell_.answers.size(), 5u);
  EXPECT_EQ(most_running_, 2);
}

TEST_F(ToolBridgeTest, AJournaledCallIsStartedOnlyOnceItHasASlot) {
  Add({.name = "held"}, Held());
  const auto journal = std::make_shared<RecordingJournal>();
  ToolBridge bridge(cell_, registry_.Snapshot(), {.side_by_side = 2, .journal = journal});
  for (std::uint32_t i = 0; i < 4; ++i) Call(bridge, i, "held");
  Poll();
  EXPECT_THAT(journal->started, ElementsAre(0, 1));
  Release(0);
  Poll();
  EXPECT_THAT(journal->started, ElementsAre(0, 1, 2));
  Close(bridge);
  EXPECT_THAT(journal->started, ElementsAre(0, 1, 2));
}

TEST_F(ToolBridgeTest, ACallThatMayNotStartIsNotExecuted) {
  Add({.name = "held"}, Held());
  const auto journal = std::make_shared<RecordingJournal>();
  journal->refused = 0;
  ToolBridge bridge(cell_, registry_.Snapshot(), {.side_by_side = 1, .journal = journal});
  for (std::uint32_t i = 0; i < 2; ++i) Call(bridge, i, "held");
  Poll();
  EXPECT_EQ(held_.size(), 1u);  // The other one, which has the slot now.
  Release(0);
  Poll();
  EXPECT_THAT(cell_.order, ElementsAre(1));
  Close(bridge);
}

TEST_F(ToolBridgeTest, AToolThatStartsItselfIsStartedWhenItSaysSo) {
  const auto journal = std::make_shared<RecordingJournal>();
  std::size_t started_before = 99;
  Add({.name = "late"}, Awaitable([&](Dict, CallContext call) -> asio::awaitable<Value> {
                          started_before = journal->started.size();
                          co_await call.start();
                          co_return Value(static_cast<std::int64_t>(journal->started.size()));
                        }).StartingItself());
  // An answer without an effect has a row, too.
  Add({.name = "never"}, Awaitable([](Dict, CallContext) -> asio::awaitable<ToolAnswer> {
                           co_return ToolRaised{.type = "E", .message = "no"};
                         }).StartingItself());
  ToolBridge bridge(cell_, registry_.Snapshot(), {.journal = journal});
  Call(bridge, 0, "late");
  Poll();
  EXPECT_EQ(started_before, 0u);
  EXPECT_EQ(Shown(0), "1");
  Call(bridge, 1, "never");
  Poll();
  EXPECT_EQ(Shown(1), "E: no");
  EXPECT_THAT(journal->started, ElementsAre(0, 1));
  Close(bridge);
}

TEST_F(ToolBridgeTest, ASlowToolTimesOut) {
  Add({.name = "held", .timeout = 1ms}, Held());
  ToolBridge bridge(cell_, registry_.Snapshot(), {});
  Call(bridge, 0, "held");
  context_.run();
  EXPECT_THAT(Shown(0), HasSubstr("TimeoutError"));
  EXPECT_EQ(running_, 0);
}

TEST_F(ToolBridgeTest, WhenTheRunEndsCallsAreCancelledAndNothingIsAnswered) {
  Add({.name = "held"}, Held());
  ToolBridge bridge(cell_, registry_.Snapshot(), {.side_by_side = 2});
  for (std::uint32_t i = 0; i < 3; ++i) Call(bridge, i, "held");
  Poll();
  Close(bridge);
  EXPECT_EQ(running_, 0);
  EXPECT_EQ(held_.size(), 2u);  // The third never began.
  EXPECT_TRUE(cell_.answers.empty());
}

TEST_F(ToolBridgeTest, DestroyingABridgeCancelsItsCalls) {
  Add({.name = "held"}, Held());
  {
    ToolBridge bridge(cell_, registry_.Snapshot(), {});
    Call(bridge, 0, "held");
    Poll();
    EXPECT_EQ(running_, 1);
  }
  context_.restart();
  context_.run();  // Returns, because nothing is left to wait for.
  EXPECT_EQ(running_, 0);
  EXPECT_TRUE(cell_.answers.empty());
}

TEST_F(ToolBridgeTest, ARunKeepsTheToolsItStartedWith) {
  Add({.name = "held"}, Held());
  ToolBridge bridge(cell_, registry_.Snapshot(), {});
  ASSERT_TRUE(registry_.Remove("held"));
  Call(bridge, 0, "held", R"({"x":5})");
  Poll();
  Release(0);
  Poll();
  EXPECT_EQ(Shown(0), "5");
}

TEST_F(ToolBridgeTest, AnAnswerThatCannotBeSentIsRaised) {
  Add({.name = "long"}, Inline([](const Dict&) { return Value(std::string(2000, 'x')); }));
  Add({.name = "odd"},
      Inline([](const Dict&) { return Value(List{{Value(std::string("\xff"))}}); }));
  Add({.name = "bad"}, Inline([](const Dict&) -> ToolAnswer {
        return ToolRaised{.type = "E", .message = "a\xff" + std::string(100'000, 'x')};
      }));
  ToolBridge bridge(cell_, registry_.Snapshot(), {});
  Call(bridge, 0, "long");
  Call(bridge, 1, "odd");
  Call(bridge, 2, "bad");
  EXPECT_EQ(Shown(0), "LimitError: too long");
  EXPECT_THAT(Shown(1), HasSubstr("not UTF-8"));
  EXPECT_TRUE(Shown(2).starts_with("E: a?x"));
  EXPECT_LT(Shown(2).size(), 20'000u);
}

TEST_F(ToolBridgeTest, GatedCallsAreDeniedWithoutConsentAndJournal) {
  int done = 0;
  Add({.name = "gated", .approval = Approval::Always()}, Inline([&](const Dict&) {
        ++done;
        return Value();
      }));
  ToolBridge bridge(cell_, registry_.Snapshot(), {});
  Call(bridge, 0, "gated");
  Poll();
  EXPECT_THAT(Shown(0), HasSubstr("denied: gated needs an approval"));
  EXPECT_EQ(done, 0);
}

TEST_F(ToolBridgeTest, ConsentGivenBeforehandCoversEveryCallThatCanBeExecuted) {
  Add({.name = "gated", .approval = Approval::Always()},
      Inline([&](const Dict& given) { return Value(given); }));
  ToolBridge bridge(cell_, registry_.Snapshot(), {.consent = Consent::kGiven});
  bridge.OnCall({.seq = 0, .tool = "gated", .positional = {{Value(std::int64_t{1})}}});
  Call(bridge, 1, "gated", R"({"x":2})");
  Call(bridge, 2, "gated", R"({"x":"bad"})");
  Poll();
  EXPECT_EQ(Shown(0), R"({"x":1})");
  EXPECT_EQ(Shown(1), R"({"x":2})");
  EXPECT_THAT(Shown(2), HasSubstr("TypeError"));
}

TEST_F(ToolBridgeTest, TheJournalSeesExactlyTheCallThatIsExecuted) {
  Add({.name = "gated", .approval = Approval::Always()},
      Inline([&](const Dict& given) { return Value(given); }));
  const auto journal = std::make_shared<RecordingJournal>();
  journal->denied = R"({"x":2})";
  ToolBridge bridge(cell_, registry_.Snapshot(), {.journal = journal});
  bridge.OnCall({.seq = 0, .tool = "gated", .positional = {{Value(std::int64_t{1})}}});
  Call(bridge, 1, "gated", R"({"x":2})");
  // No approval is requested for a call that cannot be executed.
  Call(bridge, 2, "gated", R"({"x":"bad"})");
  Poll();
  EXPECT_THAT(journal->asked, ElementsAre(R"(0{"x":1})", R"(1{"x":2})"));
  EXPECT_EQ(Shown(0), R"({"x":1})");
  EXPECT_EQ(Shown(1), "denied: not two");
  EXPECT_THAT(Shown(2), HasSubstr("TypeError"));
}

TEST_F(ToolBridgeTest, NoApprovalIsRequestedForArgumentsThatTheBodyRefuses) {
  Add({.name = "gated", .approval = Approval::Always()},
      Inline([](const Dict& given) {
        return Value(given);
      }).Checking([](const Dict& given) -> Result<void> {
        if (*given.Find("x") == Value(std::int64_t{1})) return {};
        return Error(ErrorCode::kInvalidArgument, "x must be 1");
      }));
  const auto journal = std::make_shared<RecordingJournal>();
  ToolBridge bridge(cell_, registry_.Snapshot(), {.journal = journal});
  Call(bridge, 0, "gated", R"({"x":2})");
  Poll();
  EXPECT_EQ(Shown(0), "TypeError: x must be 1");
  EXPECT_TRUE(journal->asked.empty());
  Call(bridge, 1, "gated", R"({"x":1})");
  Poll();
  EXPECT_EQ(Shown(1), R"({"x":1})");
  EXPECT_EQ(journal->asked.size(), 1u);
}

TEST_F(ToolBridgeTest, OutputPassesThrough) {
  std::string out;
  ToolBridge bridge(cell_, registry_.Snapshot(),
                    {.on_output = [&](OutputStream, std::string_view text) { out += text; }});
  bridge.OnOutput(OutputStream::kStdout, "hello");
  EXPECT_EQ(out, "hello");
}

// A call whose argument is a list of this many None values: one byte each, and 40 when decoded.
ToolCall Nones(std::uint32_t seq, std::string tool, std::size_t count) {
  ToolCall call{.seq = seq, .tool = std::move(tool)};
  EXPECT_TRUE(
      EncodeValue(List{{Value(call.tool), Value(List{{Value(List{std::vector<Value>(count)})}}),
                        Value(Dict{})}},
                  call.packed));
  return call;
}

class LargeCallTest : public ToolBridgeTest {
 protected:
  void AddAny(ToolDefinition definition, ToolBody body) {
    definition.input_schema = *ParseJson(R"({"properties":{"x":{}}})");
    ASSERT_TRUE(registry_.Add(*Tool::Make(std::move(definition), std::move(body))));
  }
};

TEST_F(LargeCallTest, ArgumentsWaitPackedUntilThereIsRoomForThem) {
  AddAny({.name = "held"}, Held());
  ToolBridge bridge(cell_, registry_.Snapshot(), {});
  for (std::uint32_t seq = 0; seq < 8; ++seq) bridge.OnCall(Nones(seq, "held", 250'000));
  for (std::size_t done = 0; done < 8; ++done) {
    Poll();
    ASSERT_GT(held_.size(), done);
    EXPECT_LE(bridge.argument_bytes(), kMaxArgumentBytes);
    EXPECT_GT(bridge.argument_bytes(), 250'000 * sizeof(Value));
    Release(done);
  }
  Poll();
  EXPECT_EQ(cell_.answers.size(), 8u);
  EXPECT_EQ(most_running_, 2);
  EXPECT_EQ(bridge.argument_bytes(), 0u);
}

TEST_F(LargeCallTest, ArgumentsThatTakeTooMuchMemoryRaiseLimitErrorAndTheNextCallIsServed) {
  AddAny({.name = "echo"}, Inline([](const Dict&) { return Value(true); }));
  ToolBridge bridge(cell_, registry_.Snapshot(), {});
  for (std::uint32_t seq = 0; seq < 8; ++seq) bridge.OnCall(Nones(seq, "echo", 1'000'000));
  bridge.OnCall(Nones(8, "echo", 10));
  Poll();
  for (std::uint32_t seq = 0; seq < 8; ++seq) EXPECT_THAT(Shown(seq), HasSubstr("LimitError: "));
  EXPECT_EQ(Shown(8), "true");
  EXPECT_EQ(bridge.argument_bytes(), 0u);
}

TEST_F(LargeCallTest, LargeCallsAreReadInThePoolAndSmallOnesDoNotWaitForThem) {
  AddAny({.name = "echo"}, Inline([](const Dict&) { return Value(true); }));
  asio::io_context pool;
  ToolBridge bridge(cell_, registry_.Snapshot(), {.pool = pool.get_executor()});
  bridge.OnCall(Nones(0, "echo", 100'000));
  bridge.OnCall(Nones(1, "echo", 10));
  Poll();
  EXPECT_EQ(Shown(0), "(none)");
  EXPECT_EQ(Shown(1), "true");
  EXPECT_EQ(pool.run(), 1u);
  Poll();
  EXPECT_EQ(Shown(0), "true");
}

// Makes calls wait until the test decides about them.
class HoldingJournal final : public CallJournal {
 public:
  explicit HoldingJournal(asio::any_io_executor executor)
      : decided_(executor, asio::steady_timer::time_point::max()) {}

  void Expect(std::uint32_t seq) override { expected.push_back(seq); }
  asio::awaitable<CallDecision> Before(JournaledCall call) override {
    seen.push_back(call.seq);
    if (call.refused) refused.push_back(call.seq);
    while (!open_) co_await decided_.async_wait(asio::as_tuple(asio::use_awaitable));
    co_return GoAhead{.consent = Consent::kGiven};
  }
  asio::awaitable<bool> Start(std::uint32_t) override { co_return true; }
  asio::awaitable<std::optional<SystemTime>> After(std::uint32_t, const ToolAnswer&) override {
    while (!writes) co_await decided_.async_wait(asio::as_tuple(asio::use_awaitable));
    co_return SystemTime{};
  }
  void Decide() {
    open_ = true;
    decided_.cancel();
  }

  std::vector<std::uint32_t> expected;
  std::vector<std::uint32_t> seen;
  std::vector<std::uint32_t> refused;
  bool writes = true;

 private:
  bool open_ = false;
  asio::steady_timer decided_;
};

TEST_F(LargeCallTest, JournaledCallsKeepNothingDecodedWhileTheyWait) {
  AddAny({.name = "held", .approval = Approval::Always()}, Held());
  const auto journal = std::make_shared<HoldingJournal>(context_.get_executor());
  ToolBridge bridge(cell_, registry_.Snapshot(), {.journal = journal});
  for (std::uint32_t seq = 0; seq < 8; ++seq) bridge.OnCall(Nones(seq, "held", 250'000));
  EXPECT_EQ(journal->expected.size(), 8u);  // Before any of them is read.
  Poll();
  EXPECT_EQ(journal->seen.size(), 8u);
  EXPECT_EQ(bridge.argument_bytes(), 0u);
  journal->Decide();
  for (std::size_t done = 0; done < 8; ++done) {
    Poll();
    ASSERT_GT(held_.size(), done);
    EXPECT_LE(bridge.argument_bytes(), kMaxArgumentBytes);
    Release(done);
  }
  Poll();
  EXPECT_EQ(cell_.answers.size(), 8u);
}

TEST_F(LargeCallTest, TheTextsOfJournaledCallsThatWaitAreBounded) {
  AddAny({.name = "echo"}, Inline([](const Dict&) { return Value(true); }));
  const auto journal = std::make_shared<HoldingJournal>(context_.get_executor());
  ToolBridge bridge(cell_, registry_.Snapshot(), {.journal = journal});
  // A control character takes one byte on the wire and six in JSON.
  const auto call = [](std::uint32_t seq) {
    ToolCall made{.seq = seq, .tool = "echo"};
    EXPECT_TRUE(EncodeValue(
        List{{Value("echo"), Value(List{{Value(std::string(1'000'000, '\x01'))}}), Value(Dict{})}},
        made.packed));
    return made;
  };
  for (std::uint32_t seq = 0; seq < 4; ++seq) bridge.OnCall(call(seq));
  Poll();
  EXPECT_EQ(journal->refused, (std::vector<std::uint32_t>{2, 3}));
  journal->Decide();
  Poll();
  EXPECT_EQ(Shown(1), "true");
  EXPECT_THAT(Shown(2), HasSubstr("LimitError: the arguments of a run's open calls"));
  bridge.OnCall(call(4));  // There is room again.
  Poll();
  EXPECT_EQ(Shown(4), "true");
}

TEST_F(LargeCallTest, AThousandJournaledCallsRunAFewAtATimeAndEachIsAnswered) {
  AddAny({.name = "held"}, Held());
  const auto journal = std::make_shared<HoldingJournal>(context_.get_executor());
  journal->Decide();
  ToolBridge bridge(cell_, registry_.Snapshot(), {.side_by_side = 4, .journal = journal});
  for (std::uint32_t seq = 0; seq < 1000; ++seq) bridge.OnCall(Nones(seq, "held", 1));
  for (std::size_t done = 0; done < 1000; ++done) {
    Poll();
    ASSERT_GT(held_.size(), done);
    Release(done);
  }
  Poll();
  EXPECT_EQ(cell_.answers.size(), 1000u);
  EXPECT_EQ(most_running_, 4);
}

TEST_F(LargeCallTest, CallsWaitForLargeAnswersThatAreNotRecordedYet) {
  int calls = 0;
  AddAny({.name = "list"}, Inline([&](const Dict&) {
           ++calls;
           return Value(List{std::vector<Value>(300'000)});
         }));
  const auto journal = std::make_shared<HoldingJournal>(context_.get_executor());
  journal->writes = false;
  journal->Decide();
  ToolBridge bridge(cell_, registry_.Snapshot(), {.journal = journal});
  for (std::uint32_t seq = 0; seq < 6; ++seq) bridge.OnCall(Nones(seq, "list", 1));
  Poll();
  EXPECT_EQ(calls, 1);
  journal->writes = true;
  journal->Decide();
  context_.restart();
  while (cell_.answers.size() < 6 && context_.run_one_for(10s) > 0) continue;
  EXPECT_EQ(calls, 6);
  // All had room; they are too long for this cell.
  for (std::uint32_t seq = 0; seq < 6; ++seq) EXPECT_EQ(Shown(seq), "LimitError: too long");
  Close(bridge);
}

}  // namespace
}  // namespace caisson
