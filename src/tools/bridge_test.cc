#include "tools/bridge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <map>

#include "wire/json.h"

namespace caisson {
namespace {

using ::testing::HasSubstr;

// Takes answers to the calls a test makes in its name.
class RecordingCell final : public Cell {
 public:
  explicit RecordingCell(asio::io_context& context) : context_(context) {}

  asio::any_io_executor executor() const override { return context_.get_executor(); }
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

  Result<void> Answer(std::uint32_t seq, ToolAnswer answer) override {
    const auto* value = std::get_if<Value>(&answer);
    if (value != nullptr && *value == kTooLong) {
      return Error(ErrorCode::kResourceExhausted, "the answer is too long");
    }
    if (!answers.emplace(seq, std::move(answer)).second) ADD_FAILURE() << seq << " answered twice";
    return {};
  }

  inline static const Value kTooLong = std::string("too long");
  std::map<std::uint32_t, ToolAnswer> answers;

 private:
  asio::io_context& context_;
};

class ToolBridgeTest : public ::testing::Test {
 protected:
  static Value Json(std::string_view text) { return *ParseJson(text); }

  void Add(std::string name, ToolBody body, Approval approval = {}) {
    ToolDefinition definition{.name = std::move(name),
                              .input_schema = Json(R"({"properties":{"n":{"type":"integer"}}})"),
                              .approval = std::move(approval)};
    ASSERT_TRUE(tools_.Add(*Tool::Make(std::move(definition), std::move(body))));
  }
  // A tool that waits until the test lets it go, or it is cancelled.
  void AddWaiting(const std::string& name) {
    Add(name, Awaitable([this](Dict) -> asio::awaitable<Value> {
          ++waiting_;
          asio::steady_timer never(context_, asio::steady_timer::time_point::max());
          gate_.push_back(&never);
          co_await never.async_wait(asio::as_tuple(asio::use_awaitable));
          co_return Value(std::string("done"));
        }));
  }
  ToolBridge& Bridge(BridgeOptions options = {}) {
    bridge_ = std::make_unique<ToolBridge>(cell_, tools_.Snapshot(), std::move(options));
    return *bridge_;
  }
  void Close() {
    bool closed = false;
    asio::co_spawn(
        context_,
        [&]() -> asio::awaitable<void> {
          co_await bridge_->Close();
          closed = true;
        },
        asio::detached);
    context_.restart();
    context_.run();
    EXPECT_TRUE(closed);
  }
  void Poll() {
    context_.restart();
    context_.poll();
  }

  asio::io_context context_;
  RecordingCell cell_{context_};
  ToolRegistry tools_;
  std::unique_ptr<ToolBridge> bridge_;
  int waiting_ = 0;
  std::vector<asio::steady_timer*> gate_;
};

TEST_F(ToolBridgeTest, AnImmediateToolIsAnsweredWithinTheCall) {
  Add("twice",
      Inline([](const Dict& given) -> Value { return *given.Find("n")->If<std::int64_t>() * 2; }));
  Bridge().OnCall({.seq = 0, .tool = "twice", .positional = {{Value(std::int64_t{21})}}});
  EXPECT_EQ(std::get<Value>(cell_.answers.at(0)), Value(std::int64_t{42}));
}

TEST_F(ToolBridgeTest, AnUnknownToolAndABadCallRaise) {
  Add("twice", Inline([](const Dict&) { return Value(); }));
  Bridge().OnCall({.seq = 0, .tool = "twize"});
  Bridge().OnCall({.seq = 1, .tool = "twice", .positional = {{Value(std::string("x"))}}});
  EXPECT_EQ(std::get<ToolRaised>(cell_.answers.at(0)).type, "LookupError");
  EXPECT_THAT(std::get<ToolRaised>(cell_.answers.at(0)).message, HasSubstr("twice"));
  EXPECT_EQ(std::get<ToolRaised>(cell_.answers.at(1)).type, "TypeError");
}

TEST_F(ToolBridgeTest, ACallThatNeedsApprovalIsDeniedWithoutConsentAndDoneWithIt) {
  int done = 0;
  Add("send", Inline([&](const Dict&) -> Value { return std::int64_t{++done}; }),
      Approval::Always());
  Bridge().OnCall({.seq = 0, .tool = "send"});
  EXPECT_THAT(std::get<ToolDenied>(cell_.answers.at(0)).message, HasSubstr("approval"));
  EXPECT_EQ(done, 0);
  Bridge({.consent = Consent::kGiven}).OnCall({.seq = 1, .tool = "send"});
  EXPECT_EQ(done, 1);
}

TEST_F(ToolBridgeTest, CallsRunSideBySideUpToANumberAndTheOthersWaitInLine) {
  AddWaiting("wait");
  Bridge({.side_by_side = 2});
  for (std::uint32_t seq = 0; seq < 3; ++seq) bridge_->OnCall({.seq = seq, .tool = "wait"});
  Poll();
  EXPECT_EQ(waiting_, 2);
  gate_[1]->cancel();
  Poll();
  EXPECT_EQ(waiting_, 3);
  EXPECT_EQ(cell_.answers.size(), 1u);
  EXPECT_TRUE(cell_.answers.contains(1));
  Close();
}

TEST_F(ToolBridgeTest, CloseEndsWhatIsUnderWayAndDropsWhatWaits) {
  AddWaiting("wait");
  Bridge({.side_by_side = 2});
  for (std::uint32_t seq = 0; seq < 5; ++seq) bridge_->OnCall({.seq = seq, .tool = "wait"});
  Poll();
  Close();
  EXPECT_EQ(waiting_, 2);
  bridge_->OnCall({.seq = 9, .tool = "wait"});
  Poll();
  EXPECT_EQ(waiting_, 2);
}

TEST_F(ToolBridgeTest, AnAnswerThatCannotBeSentRaisesInstead) {
  Add("huge", Inline([](const Dict&) { return RecordingCell::kTooLong; }));
  Bridge().OnCall({.seq = 0, .tool = "huge"});
  EXPECT_THAT(std::get<ToolRaised>(cell_.answers.at(0)).message, HasSubstr("too long"));
}

TEST_F(ToolBridgeTest, ARunKeepsItsToolsWhenTheRegistryChanges) {
  Add("f", Inline([](const Dict&) { return Value(true); }));
  Bridge();
  tools_.Clear();
  bridge_->OnCall({.seq = 0, .tool = "f"});
  EXPECT_EQ(std::get<Value>(cell_.answers.at(0)), Value(true));
}

TEST_F(ToolBridgeTest, EveryCallIsTraced) {
  std::vector<std::string> outcomes;
  Add("f", Inline([](const Dict&) { return Value(true); }));
  Bridge({.trace = [&](const ToolTrace& trace) { outcomes.push_back(trace.outcome); }});
  bridge_->OnCall({.seq = 0, .tool = "f"});
  bridge_->OnCall({.seq = 1, .tool = "f", .keywords = {{{std::string("x"), Value()}}}});
  EXPECT_THAT(outcomes, ::testing::ElementsAre("returned", "refused"));
}

}  // namespace
}  // namespace caisson
