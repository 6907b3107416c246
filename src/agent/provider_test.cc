#include "agent/provider.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runs/cells/loop_for_test.h"
#include "wire/json.h"

namespace caisson {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const OwnerId kAnn("ann");

class ProviderTest : public ::testing::Test {
 protected:
  ~ProviderTest() override { loop_.Await(runner_.Close()); }

  static std::vector<std::string> Names(const CodeActProvider& provider) {
    std::vector<std::string> names;
    for (const auto& tool : provider.GetTools()) names.push_back(tool->name());
    return names;
  }
  static Dict Arguments(std::string_view json) {
    return std::get<Dict>(ParseJson(json)->variant());
  }
  Result<std::vector<Content>> Invoke(const CodeActScope& scope, std::string_view arguments,
                                      Consent consent = Consent::kNone) {
    return loop_.Await(
        scope.tool->Invoke({.keywords = Arguments(arguments), .consent = consent}, calls_));
  }

  TestLoop loop_;
  FakeEngine engine_{loop_.context().get_executor()};
  CodeRunner runner_{engine_};
  CodeActProvider provider_{runner_};
  ToolRun calls_;
};

TEST_F(ProviderTest, ToolsAreAddedReplacedRemovedAndCleared) {
  EXPECT_TRUE(provider_.AddTool(TestTool("a")));
  EXPECT_TRUE(provider_.AddTool(TestTool("b")));
  EXPECT_THAT(Names(provider_), ElementsAre("a", "b"));
  EXPECT_TRUE(provider_.AddTool(TestTool("a")));
  EXPECT_THAT(Names(provider_), ElementsAre("b", "a"));
  EXPECT_TRUE(provider_.RemoveTool("b"));
  EXPECT_EQ(provider_.RemoveTool("b").error().code(), ErrorCode::kNotFound);
  provider_.ClearTools();
  EXPECT_THAT(Names(provider_), IsEmpty());
}

TEST_F(ProviderTest, MountsAreAddedReplacedRemovedAndCleared) {
  const std::string host = ::testing::TempDir();
  const auto mount = [&](std::string guest, MountMode mode) {
    return workspace::MountSpec{.host = host,
                                .point = {.guest_path = std::move(guest), .mode = mode}};
  };
  EXPECT_TRUE(provider_.AddMount(mount("/input", MountMode::kReadOnly)));
  EXPECT_THAT(provider_.Description(), HasSubstr("- /input (read-only)"));
  EXPECT_TRUE(provider_.AddMount(mount("/input", MountMode::kOverlay)));
  ASSERT_EQ(provider_.GetMounts().size(), 1u);
  EXPECT_EQ(provider_.GetMounts()[0].point.mode, MountMode::kOverlay);
  EXPECT_FALSE(provider_.AddMount(mount("relative", MountMode::kReadOnly)));
  EXPECT_FALSE(provider_.AddMount({.host = host + "/not there", .point = {.guest_path = "/x"}}));
  EXPECT_EQ(provider_.GetMounts().size(), 1u);
  EXPECT_EQ(provider_.RemoveMount("/x").error().code(), ErrorCode::kNotFound);
  EXPECT_TRUE(provider_.RemoveMount("/input"));
  EXPECT_THAT(provider_.Description(), HasSubstr("No directories are mounted."));
  EXPECT_TRUE(provider_.AddMount(mount("/data", MountMode::kReadOnly)));
  provider_.ClearMounts();
  EXPECT_THAT(provider_.GetMounts(), IsEmpty());
}

TEST_F(ProviderTest, CodeDoesNotRunCode) {
  EXPECT_FALSE(provider_.AddTool(TestTool("execute_code")));
}

TEST_F(ProviderTest, AGatedToolGatesTheWholeCallUntilItIsRemoved) {
  EXPECT_EQ(provider_.approval_mode(), ApprovalMode::kNeverRequire);
  provider_.AddTool(TestTool("send", Approval::Always())).has_value();
  EXPECT_EQ(provider_.approval_mode(), ApprovalMode::kAlwaysRequire);
  provider_.RemoveTool("send").has_value();
  EXPECT_EQ(provider_.approval_mode(), ApprovalMode::kNeverRequire);
}

TEST_F(ProviderTest, AskingForApprovalIsSticky) {
  CodeActProvider provider(runner_, {.approval = ApprovalMode::kAlwaysRequire});
  provider.AddTool(TestTool("send", Approval::Always())).has_value();
  provider.ClearTools();
  EXPECT_EQ(provider.approval_mode(), ApprovalMode::kAlwaysRequire);
}

TEST_F(ProviderTest, GatesAtTheCallLeaveTheWholeUngated) {
  CodeActProvider provider(runner_, {.gating = Gating::kPerCall});
  provider.AddTool(TestTool("send", Approval::Always())).has_value();
  EXPECT_EQ(provider.approval_mode(), ApprovalMode::kNeverRequire);
  engine_.Push(Calls("send"));
  EXPECT_TRUE(Invoke(*provider.BeginRun(kAnn), R"({"code":"send"
})"));
  EXPECT_TRUE(std::holds_alternative<ToolDenied>(engine_.answers().at(0).second));
}

TEST_F(ProviderTest, OneYesCoversWhatTheBundledCodeCalls) {
  provider_.AddTool(TestTool("send", Approval::Always())).has_value();
  const auto scope = *provider_.BeginRun(kAnn);
  auto refused = Invoke(scope, R"({"code":"send"
})");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kPermissionDenied);
  EXPECT_EQ(engine_.stats().runs_started, 0u);
  engine_.Push(Calls("send"));
  EXPECT_TRUE(Invoke(scope, R"({"code":"send"
  })",
                     Consent::kGiven));
  EXPECT_TRUE(std::holds_alternative<Value>(engine_.answers().at(0).second));
}

TEST_F(ProviderTest, ARunIsNotChangedByWhatIsChangedLater) {
  provider_.AddTool(TestTool("a")).has_value();
  const auto scope = *provider_.BeginRun(kAnn);
  provider_.RemoveTool("a").has_value();
  provider_.AddTool(TestTool("later", Approval::Always())).has_value();
  engine_.Push(Calls("a"));
  EXPECT_TRUE(Invoke(scope, R"({"code":"a"
  })"));
  EXPECT_TRUE(std::holds_alternative<Value>(engine_.answers().at(0).second));
  EXPECT_THAT(scope.instructions, HasSubstr("def a("));
  EXPECT_THAT(scope.instructions, Not(HasSubstr("later")));
}

TEST_F(ProviderTest, TheModelIsShownSignaturesFilesAndLimits) {
  EXPECT_THAT(provider_.Description(), HasSubstr("No tools are registered."));
  provider_
      .AddTool(*Tool::Make({.name = "send",
                            .description = "Sends a mail.",
                            .input_schema = *ParseJson(
                                R"({"properties":{"to":{"type":"string"}},"required":["to"]})")},
                           Inline([](const Dict&) { return Value(); })))
      .has_value();
  const std::string description = provider_.Description();
  EXPECT_THAT(description, HasSubstr("def send(to: str)"));
  EXPECT_THAT(description, HasSubstr("Sends a mail."));
  EXPECT_THAT(description, HasSubstr("call_tool("));
  EXPECT_THAT(description, HasSubstr("/output"));
  EXPECT_THAT(description, HasSubstr("10 s"));
  EXPECT_EQ(provider_.BeginRun(kAnn)->tool->definition().description, description);
}

TEST_F(ProviderTest, TheModelIsToldThePolicyAndNoPathOfTheHost) {
  const std::string host = ::testing::TempDir();
  ASSERT_TRUE(provider_.AddMount({.host = host, .point = {.guest_path = "/data"}}));
  for (const std::string& text :
       {provider_.Description(), provider_.BuildInstructions(ToolsVisible::kYes)}) {
    EXPECT_THAT(text, HasSubstr("- /data ("));
    EXPECT_THAT(text, Not(HasSubstr(host)));
  }
  EXPECT_THAT(provider_.Description(), HasSubstr("Only these modules may be imported: "));
  EXPECT_THAT(provider_.Description(), HasSubstr("\nLimits of a run: "));
}

TEST_F(ProviderTest, InstructionsSayWhetherToolsAreAlsoOfferedDirectly) {
  EXPECT_THAT(provider_.BuildInstructions(ToolsVisible::kYes), HasSubstr("may also be offered"));
  EXPECT_THAT(provider_.BuildInstructions(ToolsVisible::kNo), HasSubstr("not offered"));
  EXPECT_THAT(provider_.BeginRun(kAnn)->instructions, HasSubstr("not offered"));
}

TEST_F(ProviderTest, SerialisableStateHoldsNamesAndNoSecret) {
  CodeSetting setting;
  setting.environment = std::make_shared<const std::map<std::string, std::string>>(
      std::map<std::string, std::string>{{"TOKEN", "hunter2"}, {"A", "b"}});
  CodeActProvider provider(runner_, {.setting = setting});
  provider.AddTool(TestTool("send", Approval::Always())).has_value();
  const std::string json = *ToJson(provider.SerializableState());
  EXPECT_THAT(json, HasSubstr(R"("env_keys":["A","TOKEN"])"));
  EXPECT_THAT(json, HasSubstr(R"("approval_mode":"always_require")"));
  EXPECT_THAT(json, HasSubstr(R"("tool_names":["send"])"));
  EXPECT_THAT(json, HasSubstr(R"("wall_seconds":10)"));
  EXPECT_THAT(json, Not(HasSubstr("hunter2")));
  EXPECT_EQ(provider.BeginRun(kAnn)->state, provider.SerializableState());
}

TEST_F(ProviderTest, ExecuteCodeGivesContentsToAModelAndTheOutcomeToCode) {
  engine_.Push(Completes("hi\r\n"));
  const auto scope = *provider_.BeginRun(kAnn);
  EXPECT_EQ(scope.tool->name(), "execute_code");
  auto contents = Invoke(scope, R"({"code":"hi"
  })");
  ASSERT_TRUE(contents);
  EXPECT_THAT(*contents, ElementsAre(Content(TextContent{.text = "hi\n"})));
  engine_.Push(Completes("hi"));
  auto raw = loop_.Await(scope.tool->InvokeRaw({.keywords = Arguments(R"({"code":"1"})")}, calls_));
  const auto* outcome = std::get<Value>(*raw).If<Dict>();
  EXPECT_EQ(*outcome->Find("status"), Value(std::string("completed")));
  EXPECT_EQ(*outcome->Find("stdout"), Value(std::string("hi")));
}

TEST_F(ProviderTest, ExecuteCodeTakesLimitsUpToTheCeiling) {
  const auto scope = *provider_.BeginRun(kAnn);
  engine_.Push(Completes());
  EXPECT_TRUE(
      Invoke(scope, R"({"code":"1","limits":{"wall_seconds":2.5,"memory_bytes":1000000}})"));
  EXPECT_EQ(engine_.requests().at(0).second.limits.wall_time, std::chrono::milliseconds(2500));
  EXPECT_EQ(engine_.requests().at(0).second.limits.memory_bytes, 1000000u);
  for (const char* limits :
       {R"({"wall_seconds":1e9})", R"({"wall_seconds":0})", R"({"wall_seconds":-1})"}) {
    auto refused = Invoke(scope, std::string(R"({"code":"1","limits":)") + limits + "}");
    ASSERT_TRUE(refused);
    EXPECT_TRUE(std::holds_alternative<ErrorContent>(refused->at(0))) << limits;
  }
  EXPECT_FALSE(Invoke(scope, R"({"code":"1","limits":{"files":"x"}})"));
  EXPECT_FALSE(Invoke(scope, R"({"code":1})"));
  EXPECT_FALSE(Invoke(scope, R"({"code":"1","other":1})"));
  EXPECT_EQ(engine_.requests().size(), 1u);
}

TEST_F(ProviderTest, AnEmptyProgramIsAProgram) {
  engine_.Push(Completes());
  EXPECT_TRUE(Invoke(*provider_.BeginRun(kAnn), R"({"code":" \n"})"));
  EXPECT_EQ(engine_.requests().size(), 1u);
}

TEST_F(ProviderTest, SessionsAreThereOnlyWhereTheyAreOffered) {
  EXPECT_FALSE(Invoke(*provider_.BeginRun(kAnn), R"({"code":"1","session":"s"})"));
  CodeActProvider offering(runner_, {.sessions = ExecuteCodeOptions::Sessions::kOffered});
  const auto scope = *offering.BeginRun(kAnn);
  engine_.Push(Completes());
  engine_.Push(TimesOut());
  EXPECT_TRUE(Invoke(scope, R"({"code":"1","session":"s"})"));
  EXPECT_THAT(runner_.sessions().Names(kAnn), ElementsAre("s"));
  Invoke(scope, R"({"code":"2","session":"s"})").has_value();
  auto lost = Invoke(scope, R"({"code":"3","session":"s"})");
  EXPECT_EQ(std::get<ErrorContent>(lost->at(0)).type, "SessionLost");
  engine_.Push(Completes("back"));
  auto back = Invoke(scope, R"({"code":"3","session":"s","restart":true})");
  EXPECT_THAT(*back, ElementsAre(Content(TextContent{.text = "back"})));
}

}  // namespace
}  // namespace caisson
