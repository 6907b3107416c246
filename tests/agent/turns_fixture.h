// Replicas with agents over one store, on one event loop and a clock that the test moves.
//
// Trust     For tests.
// Threads   One.
// Lifetime  That of one test.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agent/stored_turns.h"
#include "agent/testing/scripted_model.h"
#include "base/testing/test_loop.h"
#include "engine/fake/fake_engine.h"
#include "runs/journaled_runs.h"
#include "store/sqlite/sqlite_store.h"
#include "wire/json.h"

namespace caisson {

// One process: engine, runs and turns over a shared store.
class TurnReplica {
 public:
  TurnReplica(TestLoop& loop, Store& store, const KeyRing& keys, const Clock& clock,
              std::vector<std::shared_ptr<const Agent>> agents, TurnSettings settings,
              CallerHost& caller_host)
      : loop_(loop),
        desk_(store, notifier_, clock),
        engine_(loop.context().get_executor()),
        runner_(engine_),
        runs_({.engine = engine_,
               .runner = runner_,
               .store = store,
               .desk = desk_,
               .notifier = notifier_,
               .keys = keys,
               .executor = loop.context().get_executor(),
               .setting = std::make_shared<const CodeSetting>(),
               .named_settings = Named(agents),
               .caller_host = &caller_host,
               .clock = &clock}),
        turns_({.agents = agents,
                .runs = runs_,
                .store = store,
                .executor = loop.context().get_executor(),
                .caller_host = &caller_host,
                .clock = &clock,
                .settings = settings}) {}
  ~TurnReplica() {
    loop_.Await(turns_.Close());
    loop_.Await(runs_.Close());
    loop_.Await(runner_.Close());
  }

  FakeEngine& engine() { return engine_; }
  JournaledRuns& runs() { return runs_; }
  StoredTurns& turns() { return turns_; }
  ApprovalDesk& desk() { return desk_; }

 private:
  static std::map<std::string, SettingSource> Named(
      const std::vector<std::shared_ptr<const Agent>>& agents) {
    std::map<std::string, SettingSource> named;
    for (const auto& agent : agents) named.emplace("agent:" + agent->name, agent->setting);
    return named;
  }

  TestLoop& loop_;
  DecisionNotifier notifier_;
  ApprovalDesk desk_;
  FakeEngine engine_;
  CodeRunner runner_;
  JournaledRuns runs_;
  StoredTurns turns_;
};

inline TurnItem Said(std::string text) {
  return {.id = "",
          .content = model::MessageItem{.role = model::Role::kUser,
                                        .parts = {model::TextPart{std::move(text)}}}};
}
inline TurnItem Answered(const ApprovalId& approval, bool approve) {
  return {.id = "", .content = ApprovalAnswer{.approval = approval, .approve = approve}};
}

// The agents `coder` (code), `caller` (direct calls), and what they call: send and post need an
// approval, read does not.
class TurnsTest : public ::testing::Test {
 protected:
  TurnsTest() { here_ = Make(); }

  std::unique_ptr<TurnReplica> Make(TurnSettings settings = {}) {
    return std::make_unique<TurnReplica>(
        loop_, *store_, keys_, clock_,
        std::vector<std::shared_ptr<const Agent>>{AgentNamed("coder", Agent::Code::kOn),
                                                  AgentNamed("caller", Agent::Code::kOff)},
        settings, caller_host_);
  }

  std::shared_ptr<const Agent> AgentNamed(std::string name, Agent::Code code) {
    return std::make_shared<const Agent>(Agent{.name = std::move(name),
                                               .model = model_,
                                               .instructions = "Be brief.",
                                               .code = code,
                                               .setting = setting_,
                                               .limits = limits_});
  }
  std::shared_ptr<const Tool> Counting(std::string name, Approval approval) {
    return *Tool::Make(
        {.name = name,
         .input_schema = *ParseJson(R"({"type":"object","properties":{"to":{"type":"string"}}})"),
         .approval = std::move(approval)},
        Inline([this, name](const Dict& given) {
          const Value* to = given.Find("to");
          effects_.push_back(name + (to ? " " + *to->If<std::string>() : ""));
          return Value(name + " done");
        }));
  }

  Result<TurnView> TryStart(TurnSpec spec) {
    return loop_.Await(here_->turns().Start(
        ann_, std::move(spec), [this](const TurnEvent& event) { events_.push_back(event); }));
  }
  TurnView Start(TurnSpec spec) {
    auto view = TryStart(std::move(spec));
    EXPECT_TRUE(view) << view.error().message();
    return view ? *std::move(view) : TurnView{};
  }
  TurnView Ask(std::string agent, std::optional<ResponseId> previous = {},
               std::vector<TurnItem> input = {Said("hello")}) {
    return Start(
        {.agent = std::move(agent), .input = std::move(input), .previous = std::move(previous)});
  }
  void Script(std::vector<std::variant<FakeOutput, FakeCall, FakeSleep>> steps,
              std::optional<Value> result = {}) {
    here_->engine().Push({.steps = std::move(steps),
                          .outcome = {.status = RunStatus::kCompleted,
                                      .reason = RunReason::kReturned,
                                      .result = std::move(result)}});
  }

  template <typename T>
  static std::vector<T> All(const std::vector<TurnItem>& items) {
    std::vector<T> found;
    for (const TurnItem& item : items) {
      if (const T* content = std::get_if<T>(&item.content)) found.push_back(*content);
    }
    return found;
  }
  static std::string TextIn(const TurnView& view) {
    std::string text;
    for (const auto& message : All<model::MessageItem>(view.output)) {
      for (const auto& part : message.parts) {
        if (const auto* plain = std::get_if<model::TextPart>(&part)) text += plain->text;
      }
    }
    return text;
  }
  // The newest request to the model, one line per item.
  std::string Seen() const {
    const auto requests = model_->requests();
    std::string text;
    for (const model::Item& item : requests.at(requests.size() - 1).items) {
      if (const auto* message = std::get_if<model::MessageItem>(&item)) {
        text += message->role == model::Role::kUser ? "user: " : "assistant: ";
        text += std::get<model::TextPart>(message->parts.at(0)).text;
      } else if (const auto* call = std::get_if<model::ToolCallItem>(&item)) {
        text += "call " + call->call_id + ": " + call->name + " " + call->arguments;
      } else if (const auto* result = std::get_if<model::ToolResultItem>(&item)) {
        text += "result " + result->call_id + ": " +
                std::get<model::TextPart>(result->parts.at(0)).text;
      }
      text += "\n";
    }
    return text;
  }

  TestLoop loop_;
  ManualClock clock_;
  CallerHost caller_host_{EnvironmentMap{}};
  const std::unique_ptr<Store> store_ = *OpenMemoryStore();
  const KeyRing keys_ = KeyRing::Generate();
  const IsolationKey ann_{*Identity::Create({.user = "ann"})};
  const IsolationKey bob_{*Identity::Create({.user = "bob"})};
  std::vector<std::string> effects_;
  std::vector<TurnEvent> events_;
  TurnLimits limits_{};
  const std::shared_ptr<ScriptedModel> model_ = std::make_shared<ScriptedModel>();
  const std::shared_ptr<const CodeSetting> setting_ = [this] {
    CodeSetting setting;
    setting.tools = std::make_shared<const ToolSet>(std::vector<std::shared_ptr<const Tool>>{
        Counting("send", Approval::Always()), Counting("post", Approval::Always()),
        Counting("read", {})});
    return std::make_shared<const CodeSetting>(std::move(setting));
  }();
  std::unique_ptr<TurnReplica> here_;
};

}  // namespace caisson
