// Turns with real workers, over every store.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>

#include "agent/stored_turns.h"
#include "agent/testing/scripted_model.h"
#include "tests/durable/test_host.h"
#include "tests/integration/engines.h"
#include "tests/store/backend.h"
#include "wire/object.h"

namespace caisson::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

std::string CodeArguments(std::string code) {
  return *ToJson(Value(Object({{"code", std::move(code)}})));
}
TurnItem Said(std::string text) {
  return {.id = "",
          .content = model::MessageItem{.role = model::Role::kUser,
                                        .parts = {model::TextPart{std::move(text)}}}};
}
template <typename T>
std::vector<T> All(const std::vector<TurnItem>& items) {
  std::vector<T> found;
  for (const TurnItem& item : items) {
    if (const T* content = std::get_if<T>(&item.content)) found.push_back(*content);
  }
  return found;
}

class RealTurnsTest : public ::testing::TestWithParam<BackendKind> {
 protected:
  // One process.
  struct Process {
    Process(RealTurnsTest& test, const std::shared_ptr<const Agent>& agent)
        : host(StartEngine(EngineKind::kWasm), test.backend_->Open(), *test.keys_, test.setting_,
               {}, {{"agent:" + agent->name, agent->setting}}, &test.caller_host_),
          turns({.agents = {agent},
                 .runs = host.runs(),
                 .store = host.store(),
                 .executor = host.executor(),
                 .caller_host = &test.caller_host_}) {}
    ~Process() { host.Now(turns.Close()); }

    Host host;
    StoredTurns turns;
  };

  std::unique_ptr<Process> Open() { return std::make_unique<Process>(*this, agent_); }

  TurnView Ask(Process& process, std::vector<TurnItem> input,
               std::optional<ResponseId> previous = {}) {
    auto view = process.host.Now(process.turns.Start(
        ann_, {.agent = "a", .input = std::move(input), .previous = std::move(previous)}, {}));
    EXPECT_TRUE(view) << view.error().message();
    return view ? *std::move(view) : TurnView{};
  }
  static TurnItem Yes(const TurnView& view, std::size_t which = 0) {
    const auto requests = All<ApprovalRequest>(view.output);
    return {.id = "",
            .content = ApprovalAnswer{.approval = requests.at(which).approval, .approve = true}};
  }
  std::shared_ptr<const Tool> Noting(std::string name, Approval approval) {
    return *Tool::Make({.name = std::move(name),
                        .input_schema = Dict{{{"properties", Dict{{{"text", Dict{}}}}}}},
                        .approval = std::move(approval)},
                       Inline([this](const Dict& given) {
                         const std::scoped_lock lock(mutex_);
                         effects_.push_back(*given.Find("text")->If<std::string>());
                         return Value(static_cast<std::int64_t>(effects_.size()));
                       }));
  }
  // Returns the user of the session that the call acts for.
  static std::shared_ptr<const Tool> WhoAmI() {
    const auto who = [](Dict, CallContext context) -> asio::awaitable<ToolReply> {
      std::string user = "nobody";
      if (context.caller) user = context.caller->Get(CallerVariable::kUserId, "unset");
      co_return ToolReply{.answer = Value(std::move(user))};
    };
    return *Tool::Make({.name = "whoami"}, ToolBody(ToolBody::Async(who)));
  }
  std::vector<std::string> effects() {
    const std::scoped_lock lock(mutex_);
    return effects_;
  }

  std::mutex mutex_;
  std::vector<std::string> effects_;
  CallerHost caller_host_{EnvironmentMap{}};
  const std::unique_ptr<Backend> backend_ = MakeBackend(GetParam());
  std::unique_ptr<KeyRing> keys_ = std::make_unique<KeyRing>(KeyRing::Generate());
  const IsolationKey ann_ = OwnerNamed("ann");
  const std::shared_ptr<ScriptedModel> model_ = std::make_shared<ScriptedModel>();
  const std::shared_ptr<const CodeSetting> setting_ = [this] {
    CodeSetting setting;
    setting.tools = std::make_shared<const ToolSet>(
        std::vector{Noting("send", Approval::Always()), Noting("note", {}), WhoAmI()});
    return std::make_shared<const CodeSetting>(std::move(setting));
  }();
  std::shared_ptr<const Agent> agent_ = std::make_shared<const Agent>(
      Agent{.name = "a", .model = model_, .code = Agent::Code::kOn, .setting = setting_});
};

TEST_P(RealTurnsTest, CodeWithTwoQuestionsMovesTwiceAndRepeatsNothing) {
  auto process = Open();
  model_->Push(CallOf("execute_code",
                      CodeArguments("note(text='first')\nprint('asking')\nsend(text='one')\n"
                                    "print('again')\nsend(text='two')\nprint('end')"),
                      "c"));
  const TurnView first = Ask(*process, {Said("go")});
  ASSERT_EQ(first.state, TurnState::kWaiting) << first.error;
  EXPECT_THAT(effects(), ElementsAre("first"));
  process.reset();

  process = Open();
  const TurnView second = Ask(*process, {Yes(first)}, first.id);
  ASSERT_EQ(second.state, TurnState::kWaiting) << second.error;
  EXPECT_THAT(effects(), ElementsAre("first", "one"));
  process.reset();

  process = Open();
  model_->Push(TextOf("Both were sent."));
  const TurnView third = Ask(*process, {Yes(second)}, second.id);
  ASSERT_EQ(third.state, TurnState::kCompleted) << third.error;
  EXPECT_THAT(effects(), ElementsAre("first", "one", "two"));
  EXPECT_EQ(All<CodeCall>(third.output).at(0).logs, "asking\nagain\nend\n");
}

TEST_P(RealTurnsTest, CallsRunSideBySideAndAFailureIsToldToTheModel) {
  auto process = Open();
  model_->Push(CallsOf({{"a", "execute_code", CodeArguments("note(text='a')\n1 + 1")},
                        {"b", "execute_code", CodeArguments("1 / 0")},
                        {"c", "execute_code", CodeArguments("import socket")}}));
  const TurnView view = Ask(*process, {Said("go")});
  ASSERT_EQ(view.state, TurnState::kCompleted) << view.error;
  const auto calls = All<CodeCall>(view.output);
  ASSERT_THAT(calls, SizeIs(3));
  EXPECT_EQ(calls[0].logs, "2");
  EXPECT_THAT(calls[1].logs, HasSubstr("ZeroDivisionError"));
  EXPECT_TRUE(calls[1].is_error);
  EXPECT_EQ(calls[1].progress, CallProgress::kCompleted);
  EXPECT_THAT(calls[2].logs, HasSubstr("Nothing was executed."));
  EXPECT_EQ(calls[2].progress, CallProgress::kFailed);
}

TEST_P(RealTurnsTest, DirectCallsWaitSideBySideAndContinueOnAnotherReplica) {
  agent_ = std::make_shared<const Agent>(
      Agent{.name = "a", .model = model_, .code = Agent::Code::kOff, .setting = setting_});
  auto process = Open();
  model_->Push(CallsOf({{"a", "send", R"({"text":"one"})"},
                        {"b", "note", R"({"text":"two"})"},
                        {"c", "send", R"({"text":"three"})"}}));
  const TurnView first = Ask(*process, {Said("go")});
  ASSERT_EQ(first.state, TurnState::kWaiting);
  EXPECT_THAT(effects(), ElementsAre("two"));
  process.reset();
  process = Open();
  const TurnView second = Ask(*process, {Yes(first, 0), Yes(first, 1)}, first.id);
  ASSERT_EQ(second.state, TurnState::kCompleted);
  EXPECT_THAT(effects(), UnorderedElementsAre("one", "two", "three"));
}

TEST_P(RealTurnsTest, EachTurnActsForItsOwnCallerAlone) {
  constexpr int kUsers = 16;
  constexpr int kTurns = 3;
  auto process = Open();
  // The model asks who it acts for, and repeats what it is told.
  model_->AnswerWith([](const model::ModelRequest& request) {
    const auto* result = std::get_if<model::ToolResultItem>(&request.items.back());
    if (result == nullptr) return CallOf("execute_code", CodeArguments("whoami()"));
    return TextOf(std::get<model::TextPart>(result->parts.at(0)).text);
  });
  std::atomic<int> wrong = 0;
  std::atomic<int> left = kUsers;
  const auto user = [&](int number) -> asio::awaitable<void> {
    const std::string name = "user-" + std::to_string(number);
    const IsolationKey owner = OwnerNamed(name.c_str());
    for (int i = 0; i < kTurns; ++i) {
      TurnSpec spec{.agent = "a", .input = {Said("who?")}};
      auto caller = std::make_shared<CallerContext>(caller_host_);
      // Every third turn binds nothing, and must see nothing of the others.
      const std::string expected = i % 3 == 2 ? "\"unset\"" : "\"" + name + "\"";
      if (i % 3 != 2) caller->Bind({.values = {{CallerVariable::kUserId, name}}});
      spec.caller = caller;
      std::string said;
      if (i % 2 == 0) {
        const auto view = co_await process->turns.Start(owner, std::move(spec), {});
        if (view)
          said = std::get<model::TextPart>(All<model::MessageItem>(view->output).at(0).parts.at(0))
                     .text;
      } else {
        spec.style = TurnSpec::Style::kBackground;
        const auto view =
            co_await process->turns.Start(owner, std::move(spec), [](const TurnEvent&) {});
        if (view)
          said = std::get<model::TextPart>(All<model::MessageItem>(view->output).at(0).parts.at(0))
                     .text;
      }
      if (said != expected) ++wrong;
    }
    --left;
  };
  const auto all = [&]() -> asio::awaitable<void> {
    for (int i = 0; i < kUsers; ++i) Spawn(process->host.executor(), user(i));
    asio::steady_timer soon(co_await asio::this_coro::executor);
    while (left > 0) {
      soon.expires_after(std::chrono::milliseconds(5));
      co_await soon.async_wait(asio::use_awaitable);
    }
  };
  process->host.Now(all());
  EXPECT_EQ(wrong, 0);
}

INSTANTIATE_OVER_BACKENDS(RealTurnsTest);

}  // namespace
}  // namespace caisson::testing
