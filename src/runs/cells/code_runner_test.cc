#include "runs/cells/code_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/spawn.h"
#include "runs/cells/loop_for_test.h"

namespace caisson {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const OwnerId kAnn("ann");

class CodeRunnerTest : public ::testing::Test {
 protected:
  ~CodeRunnerTest() override {
    loop_.Await(runner_.Close());
    EXPECT_EQ(engine_.stats().cells_live, 0u);
  }

  Result<CodeRun> Run(CellRun request) { return loop_.Await(runner_.Run(std::move(request))); }
  CodeRun RunIn(std::string session, Restart restart = Restart::kNo) {
    return *Run({.owner = kAnn,
                 .code = "code",
                 .session = SessionRequest{.name = std::move(session), .restart = restart}});
  }
  static std::shared_ptr<const CodeSetting> WithTools(
      std::vector<std::shared_ptr<const Tool>> tools) {
    CodeSetting setting;
    setting.tools = std::make_shared<const ToolSet>(std::move(tools));
    return std::make_shared<const CodeSetting>(std::move(setting));
  }
  // A tool that answers when it is cancelled, and never otherwise.
  std::shared_ptr<const Tool> Endless() {
    return TestTool("endless", {}, Awaitable([this](Dict) -> asio::awaitable<Value> {
                      ++calls_;
                      asio::steady_timer never(loop_.context(),
                                               asio::steady_timer::time_point::max());
                      co_await never.async_wait(asio::as_tuple(asio::use_awaitable));
                      co_return Value();
                    }));
  }

  TestLoop loop_;
  FakeEngine engine_{loop_.context().get_executor()};
  CodeRunner runner_{engine_};
  int calls_ = 0;
};

TEST_F(CodeRunnerTest, RunsCodeInAFreshCellOfItsOwner) {
  engine_.Push(Completes("hi"));
  std::string streamed;
  auto run = Run({.owner = kAnn, .code = "print('hi')", .on_output = [&](OutputStream, auto bytes) {
                    streamed.append(bytes);
                  }});
  ASSERT_TRUE(run);
  EXPECT_EQ(run->outcome.status, RunStatus::kCompleted);
  EXPECT_EQ(run->session, SessionFate::kNone);
  EXPECT_EQ(streamed, "hi");
  EXPECT_EQ(engine_.requests().at(0).first, kAnn);
  EXPECT_EQ(engine_.requests().at(0).second.code, "print('hi')");
  EXPECT_EQ(engine_.stats().cells_live, 0u);
}

TEST_F(CodeRunnerTest, CallsAreAnsweredByTheSettingsTools) {
  engine_.Push(Calls("send"));
  auto run = Run({.owner = kAnn, .code = "send()", .setting = WithTools({TestTool("send")})});
  EXPECT_EQ(run->outcome.calls.at(0).outcome, "returned");
  EXPECT_EQ(std::get<Value>(engine_.answers().at(0).second), Value(std::string("done")));
}

TEST_F(CodeRunnerTest, TheCellIsToldSignaturesPolicyAndEnvironment) {
  engine_.Push(Completes());
  CodeSetting setting;
  setting.tools = std::make_shared<const ToolSet>(std::vector{TestTool("send")});
  setting.policy.preset = PolicyPreset::kOpen;
  setting.environment = std::make_shared<const std::map<std::string, std::string>>(
      std::map<std::string, std::string>{{"A", "b"}});
  ASSERT_TRUE(
      Run({.owner = kAnn, .code = "1", .setting = std::make_shared<const CodeSetting>(setting)}));
  const RunRequest& request = engine_.requests().at(0).second;
  std::string description;
  ASSERT_TRUE(EncodeValue(TestTool("send")->signature().Encode(), description));
  EXPECT_EQ(*DecodeValue(*request.signatures),
            Value(List{{Tuple{{std::string("send"), Bytes{description}}}}}));
  EXPECT_EQ(request.policy, EncodePolicy(setting.policy));
  EXPECT_EQ(request.environment->at("A"), "b");
}

TEST_F(CodeRunnerTest, MountsNeedThreadsThatMayWait) {
  CodeSetting setting;
  setting.mounts = {{.host = ::testing::TempDir(), .point = {.guest_path = "/input"}}};
  auto run =
      Run({.owner = kAnn, .code = "1", .setting = std::make_shared<const CodeSetting>(setting)});
  EXPECT_EQ(run.error().code(), ErrorCode::kFailedPrecondition);
}

TEST_F(CodeRunnerTest, AGatedCallIsDeniedWithoutConsent) {
  const auto setting = WithTools({TestTool("send", Approval::Always())});
  engine_.Push(Calls("send"));
  EXPECT_EQ(Run({.owner = kAnn, .code = "send()", .setting = setting})->outcome.calls.at(0).outcome,
            "denied");
  engine_.Push(Calls("send"));
  EXPECT_EQ(Run({.owner = kAnn, .code = "send()", .setting = setting, .consent = Consent::kGiven})
                ->outcome.calls.at(0)
                .outcome,
            "returned");
}

TEST_F(CodeRunnerTest, CodeThatIsTooLongIsRefusedBeforeAnyCell) {
  const auto refused = [&](std::string code) {
    return Run({.owner = kAnn, .code = std::move(code), .limits = Limits{.code_bytes = 10}})
        ->outcome;
  };
  EXPECT_EQ(refused(std::string(11, 'x')).findings.at(0).rule, "code_bytes");
  EXPECT_EQ(engine_.stats().runs_started, 0u);
  engine_.Push(Completes());
  EXPECT_EQ(refused(std::string(10, 'x')).status, RunStatus::kCompleted);
}

TEST_F(CodeRunnerTest, LimitsAboveTheCeilingAreRefused) {
  CodeSetting setting;
  setting.ceiling.memory_bytes = 100;
  setting.limits.memory_bytes = 50;
  auto run = Run({.owner = kAnn,
                  .code = "1",
                  .setting = std::make_shared<const CodeSetting>(setting),
                  .limits = Limits{.memory_bytes = 101}});
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().code(), ErrorCode::kInvalidArgument);
}

TEST_F(CodeRunnerTest, AnEngineThatHasNoCellIsAnError) {
  engine_.FailNextOpen(Error(ErrorCode::kUnavailable, "no boundary"));
  EXPECT_EQ(Run({.owner = kAnn, .code = "1"}).error().code(), ErrorCode::kUnavailable);
  engine_.FailNextOpen(Error(ErrorCode::kCancelled, "cancelled"));
  EXPECT_EQ(Run({.owner = kAnn, .code = "1"})->outcome.status, RunStatus::kCancelled);
}

TEST_F(CodeRunnerTest, CancellingWhoAwaitsARunEndsItWithAnOutcome) {
  engine_.Push(Calls("endless"));
  const Stop stop(loop_.context().get_executor());
  std::optional<Result<CodeRun>> run;
  const auto await = [&]() -> asio::awaitable<void> {
    run = co_await runner_.Run({.owner = kAnn, .code = "1", .setting = WithTools({Endless()})});
  };
  Spawn(stop, await());
  loop_.Poll();
  EXPECT_EQ(calls_, 1);
  stop.Request();
  loop_.Poll();
  ASSERT_TRUE(run);
  EXPECT_EQ((*run)->outcome.status, RunStatus::kCancelled);
  EXPECT_EQ(engine_.stats().cells_live, 0u);
}

TEST_F(CodeRunnerTest, CancelledWhileItsCellIsOpenedNothingIsExecuted) {
  engine_.Push(Completes());
  const Stop stop(loop_.context().get_executor());
  engine_.OnNextOpen([&] { stop.Request(); });
  std::optional<Result<CodeRun>> run;
  const auto await = [&]() -> asio::awaitable<void> {
    run = co_await runner_.Run({.owner = kAnn, .code = "1"});
  };
  Spawn(stop, await());
  loop_.Poll();
  ASSERT_TRUE(run);
  EXPECT_EQ((*run)->outcome.status, RunStatus::kCancelled);
  EXPECT_EQ(engine_.stats().runs_started, 0u);
  EXPECT_EQ(engine_.stats().cells_live, 0u);
}

TEST_F(CodeRunnerTest, CloseEndsRunsUnderWayAndIsSafeTwice) {
  std::vector<RunStatus> ended;
  const auto await = [&](CellRun request) -> asio::awaitable<void> {
    ended.push_back((co_await runner_.Run(std::move(request)))->outcome.status);
  };
  for (int i = 0; i < 3; ++i) {
    engine_.Push(Calls("endless"));
    CellRun request{.owner = kAnn, .code = "1", .setting = WithTools({Endless()})};
    if (i > 0) request.session = SessionRequest{.name = "s"};  // The second waits for the first.
    loop_.Start(await(std::move(request)));
  }
  loop_.Poll();
  EXPECT_EQ(calls_, 2);
  loop_.Start(runner_.Close());
  loop_.Await(runner_.Close());
  EXPECT_THAT(ended,
              ElementsAre(RunStatus::kCancelled, RunStatus::kCancelled, RunStatus::kCancelled));
  EXPECT_EQ(engine_.stats().cells_live, 0u);
  EXPECT_EQ(Run({.owner = kAnn, .code = "1"}).error().code(), ErrorCode::kUnavailable);
}

TEST_F(CodeRunnerTest, AConfigurationThatComesAgainFindsItsCellPrepared) {
  engine_.WorthPreparing();
  const auto run = [&](const OwnerId& owner, Limits limits) {
    engine_.Push(Completes());
    EXPECT_TRUE(Run({.owner = owner, .code = "1", .limits = limits}));
  };
  const Limits several{.processes = 2};
  run(kAnn, several);
  run(kAnn, several);
  EXPECT_THAT(engine_.opened_prepared(), ElementsAre());
  EXPECT_EQ(engine_.waiting_cells(), 1);
  run(OwnerId("bob"), several);
  run(kAnn, {.processes = 3});
  EXPECT_THAT(engine_.opened_prepared(), ElementsAre());
  run(kAnn, several);
  EXPECT_THAT(engine_.opened_prepared(), ElementsAre(kAnn));
  EXPECT_EQ(engine_.waiting_cells(), 1);
}

TEST_F(CodeRunnerTest, SessionsBeginInPreparedCellsAndStayInTheirOwn) {
  engine_.WorthPreparing();
  for (int i = 0; i < 6; ++i) engine_.Push(Completes());
  RunIn("a");
  RunIn("a");  // Its cell is there: nothing was made for this run.
  EXPECT_EQ(engine_.preparations().size(), 0u);
  RunIn("b");
  EXPECT_EQ(engine_.waiting_cells(), 1);
  RunIn("c");
  EXPECT_THAT(engine_.opened_prepared(), ElementsAre(kAnn));
  RunIn("c");
  EXPECT_EQ(engine_.preparations().size(), 2u);
}

TEST_F(CodeRunnerTest, RunsThatFindTheirCellsWaitingAnywayAreNotPreparedFor) {
  for (int i = 0; i < 3; ++i) {
    engine_.Push(Completes());
    ASSERT_TRUE(Run({.owner = kAnn, .code = "1"}));
  }
  EXPECT_EQ(engine_.preparations().size(), 0u);
}

TEST_F(CodeRunnerTest, ACancelledRunLetsGoOfItsPreparedCell) {
  engine_.WorthPreparing();
  for (int i = 0; i < 3; ++i) engine_.Push(Completes());
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(Run({.owner = kAnn, .code = "1"}));
  EXPECT_EQ(engine_.waiting_cells(), 1);
  const Stop stop(loop_.context().get_executor());
  engine_.OnNextOpen([&] { stop.Request(); });
  std::optional<Result<CodeRun>> run;
  const auto await = [&]() -> asio::awaitable<void> {
    run = co_await runner_.Run({.owner = kAnn, .code = "1"});
  };
  Spawn(stop, await());
  loop_.Poll();
  ASSERT_TRUE(run);
  EXPECT_EQ((*run)->outcome.status, RunStatus::kCancelled);
  EXPECT_EQ(engine_.waiting_cells(), 0);
}

TEST_F(CodeRunnerTest, CloseDuringARunEndsWhatIsPreparedAndBeingMade) {
  engine_.WorthPreparing();
  for (int i = 0; i < 2; ++i) engine_.Push(Completes());
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(Run({.owner = kAnn, .code = "1"}));
  engine_.Push(Calls("endless"));
  std::optional<Result<CodeRun>> run;
  const auto await = [&]() -> asio::awaitable<void> {
    run = co_await runner_.Run(
        {.owner = OwnerId("bob"), .code = "1", .setting = WithTools({Endless()})});
  };
  loop_.Start(await());
  loop_.Poll();
  EXPECT_EQ(calls_, 1);
  EXPECT_EQ(engine_.waiting_cells(), 1);
  loop_.Await(runner_.Close());
  EXPECT_EQ((*run)->outcome.status, RunStatus::kCancelled);
  EXPECT_EQ(engine_.waiting_cells(), 0);
  EXPECT_EQ(engine_.preparations().size(), 1u);
}

TEST_F(CodeRunnerTest, ASessionKeepsItsCell) {
  engine_.Push(Completes());
  engine_.Push(Completes());
  EXPECT_EQ(RunIn("s").session, SessionFate::kKept);
  EXPECT_EQ(RunIn("s").session, SessionFate::kKept);
  EXPECT_EQ(engine_.stats().cells_live, 1u);
  EXPECT_EQ(engine_.requests().size(), 2u);
}

TEST_F(CodeRunnerTest, ASessionLostToALimitIsReportedAndNeverSilentlyFresh) {
  engine_.Push(Completes());
  engine_.Push(TimesOut());
  RunIn("s");
  const CodeRun over = RunIn("s");
  EXPECT_EQ(over.outcome.reason, RunReason::kWallTime);
  EXPECT_EQ(over.session, SessionFate::kLost);
  engine_.Push(Completes("fresh"));
  for (int i = 0; i < 2; ++i) {
    const CodeRun after = RunIn("s");
    EXPECT_EQ(after.outcome.status, RunStatus::kFailed);
    EXPECT_EQ(after.outcome.reason, RunReason::kLost);
    EXPECT_THAT(after.outcome.error->message, HasSubstr("limit (wall_time)"));
    EXPECT_EQ(after.session, SessionFate::kLost);
  }
  EXPECT_EQ(RunIn("s", Restart::kIfLost).outcome.stdout_text, "fresh");
}

TEST_F(CodeRunnerTest, RunsOfOneSessionTakeTurns) {
  std::vector<std::string> order;
  const auto await = [&](std::string text) -> asio::awaitable<void> {
    engine_.Push(Completes(text));
    auto run =
        co_await runner_.Run({.owner = kAnn, .code = text, .session = SessionRequest{.name = "s"}});
    EXPECT_TRUE(run);
    order.push_back(text);
  };
  for (const char* text : {"1", "2", "3"}) loop_.Start(await(text));
  loop_.Poll();
  EXPECT_THAT(order, ElementsAre("1", "2", "3"));
  EXPECT_EQ(engine_.stats().cells_live, 1u);
}

TEST(RefusedForLengthTest, SaysWhichLimitAndHowToGoOn) {
  const Outcome outcome = RefusedForLength({.code_bytes = 7}, {.engine = "wasm", .tier = "none"});
  EXPECT_EQ(outcome.status, RunStatus::kRejected);
  ASSERT_EQ(outcome.findings.size(), 1U);
  EXPECT_EQ(outcome.findings[0].rule, "code_bytes");
  EXPECT_NE(outcome.findings[0].message.find('7'), std::string::npos);
}

}  // namespace
}  // namespace caisson
