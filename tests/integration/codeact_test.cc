// Runs from end to end on the real engines: through a CodeRunner, as every door does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <future>

#include "agent/provider.h"
#include "base/spawn.h"
#include "jail/testing/namespaces.h"
#include "runs/cells/code_runner.h"
#include "tests/integration/census.h"
#include "tests/integration/engines.h"
#include "tests/integration/guest.h"
#include "wire/json.h"
#include "workspace/testing/test_directory.h"

namespace caisson::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const OwnerId kAnn("ann");
const OwnerId kBob("bob");
constexpr auto kPatience = 60s;

class CodeActTest : public OnEachEngine {
 protected:
  ~CodeActTest() override { Close(); }

  void Close() {
    if (!runner_) return;
    Wait(SpawnFuture(callers_.get_executor(), runner_->Close()));
    runner_.reset();
    callers_.join();
    pool_.join();
    engine_.reset();
  }

  // A test that waits longer has found a hang.
  template <typename T>
  static T Wait(std::future<T> future) {
    if (future.wait_for(kPatience) != std::future_status::ready) {
      ADD_FAILURE() << "waited in vain";
      std::abort();
    }
    return future.get();
  }

  std::future<void> Start(CellRun request, std::optional<Result<CodeRun>>& result) {
    return SpawnFuture(
        callers_.get_executor(),
        [this, request = std::move(request), &result]() mutable -> asio::awaitable<void> {
          result = co_await runner_->Run(std::move(request));
        });
  }
  Result<CodeRun> Run(CellRun request) {
    std::optional<Result<CodeRun>> result;
    Wait(Start(std::move(request), result));
    return *std::move(result);
  }
  CodeRun RunIn(const OwnerId& owner, std::string session, std::string code,
                Restart restart = Restart::kNo) {
    return *Run({.owner = owner,
                 .code = std::move(code),
                 .setting = Open(),
                 .session = SessionRequest{.name = std::move(session), .restart = restart}});
  }

  // Without the policy, because the tests are about what is behind it.
  static std::shared_ptr<const CodeSetting> Open(CodeSetting setting = {}) {
    setting.policy.preset = PolicyPreset::kOpen;
    return std::make_shared<const CodeSetting>(std::move(setting));
  }
  static std::shared_ptr<const Tool> Add(std::atomic<int>& calls) {
    return *Tool::Make(
        {.name = "add",
         .input_schema = *ParseJson(
             R"({"properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]})")},
        Inline([&calls](const Dict& given) -> Value {
          ++calls;
          return *given.Find("a")->If<std::int64_t>() + *given.Find("b")->If<std::int64_t>();
        }));
  }
  bool can_copy() const {
#if __has_feature(address_sanitizer)
    return GetParam() == EngineKind::kWasm;  // There is no thread sanitizer in fork servers.
#else
    return GetParam() != EngineKind::kForeign;
#endif
  }

  // Lanes resume waiting coroutines here, so it is destroyed after them.
  asio::thread_pool callers_{2};
  std::unique_ptr<Engine> engine_ = StartEngine(GetParam(), {.lanes = 2});
  asio::thread_pool pool_{2};
  std::unique_ptr<CodeRunner> runner_ = std::make_unique<CodeRunner>(
      *engine_,
      CodeRunnerOptions{.sessions = {.most_per_owner = 32}, .pool = pool_.get_executor()});
};
INSTANTIATE_ON_BOTH_ENGINES(CodeActTest);

TEST_P(CodeActTest, CodeCallsToolsByNamePositionAndCallTool) {
  std::atomic<int> calls = 0;
  CodeSetting setting;
  setting.tools = std::make_shared<const ToolSet>(std::vector{Add(calls)});
  const auto run =
      Run({.owner = kAnn,
           .code = "import asyncio\n"
                   "[add(1, 2), await add(a=3, b=4), call_tool('add', {'a': 5, 'b': 6}),\n"
                   " await asyncio.gather(add(1, 1), add(2, 2))]",
           .setting = Open(setting)});
  ASSERT_TRUE(run) << run.error().message();
  EXPECT_EQ(ResultJson(run->outcome), "[3,7,11,[2,4]]");
  EXPECT_EQ(calls, 5);
}

TEST_P(CodeActTest, AWrongCallIsRefusedBeforeAnythingRuns) {
  std::atomic<int> calls = 0;
  CodeSetting setting;
  setting.tools = std::make_shared<const ToolSet>(std::vector{Add(calls)});
  const auto run = Run({.owner = kAnn,
                        .code = "print('ran')\nadd(1, 2)\nadd(1, 'x')\nadd(1, c=2)",
                        .setting = std::make_shared<const CodeSetting>(setting)});
  ASSERT_TRUE(run) << run.error().message();
  EXPECT_EQ(run->outcome.status, RunStatus::kRejected);
  EXPECT_EQ(run->outcome.stdout_text, "");
  ASSERT_FALSE(run->outcome.findings.empty());
  EXPECT_EQ(run->outcome.findings[0].line, 3);
  EXPECT_EQ(calls, 0);
}

TEST_P(CodeActTest, TheStrictPolicyIsTheDefault) {
  const auto run = Run({.owner = kAnn, .code = "import math\neval('1')"});
  ASSERT_TRUE(run) << run.error().message();
  EXPECT_EQ(run->outcome.status, RunStatus::kRejected);
  EXPECT_EQ(run->outcome.findings.at(0).line, 2);
}

TEST_P(CodeActTest, TheEnvironmentIsWhatWasGivenAndNothingElse) {
  CodeSetting setting;
  setting.environment = std::make_shared<const std::map<std::string, std::string>>(
      std::map<std::string, std::string>{{"MODE", "live"}});
  const auto run =
      Run({.owner = kAnn, .code = "import os\ndict(os.environ)", .setting = Open(setting)});
  EXPECT_EQ(ResultJson(run->outcome), R"({"MODE":"live"})");
}

TEST_P(CodeActTest, TwoOwnersSeeNothingOfEachOther) {
  CodeSetting setting;
  setting.environment = std::make_shared<const std::map<std::string, std::string>>(
      std::map<std::string, std::string>{{"SECRET", "of ann"}});
  const auto as_ann =
      Run({.owner = kAnn,
           .code = "import builtins, json, os, sys, types\n"
                   "secret = 'of ann'\n"
                   "builtins.leak = json.leak = secret\n"
                   "sys.modules['planted'] = types.ModuleType('planted')\n"
                   "for place in ('/tmp/leak', '/output/leak'): open(place, 'w').write(secret)",
           .setting = Open(setting),
           .session = SessionRequest{.name = "s"}});
  ASSERT_EQ(as_ann->outcome.status, RunStatus::kCompleted) << Ending(as_ann->outcome);
  constexpr const char* kLook =
      "import builtins, json, os, sys\n"
      "[hasattr(builtins, 'leak'), hasattr(json, 'leak'), 'secret' in globals(), 'planted' in "
      "sys.modules,\n"
      " os.path.exists('/tmp/leak'), os.path.exists('/output/leak'), 'SECRET' in os.environ]";
  EXPECT_EQ(ResultJson(RunIn(kBob, "s", kLook).outcome),
            "[false,false,false,false,false,false,false]");
  EXPECT_EQ(ResultJson(Run({.owner = kBob, .code = kLook, .setting = Open()})->outcome),
            "[false,false,false,false,false,false,false]");
  EXPECT_THAT(runner_->sessions().Names(kBob), ElementsAre("s"));
  EXPECT_EQ(ResultJson(RunIn(kAnn, "s", "[secret, leak]").outcome), R"(["of ann","of ann"])");
}

TEST_P(CodeActTest, ASessionKeepsVariablesImportsAndFiles) {
  EXPECT_EQ(RunIn(kAnn, "s", "import math\nx = [1]\nopen('/tmp/n', 'w').write('7')").session,
            SessionFate::kKept);
  RunIn(kAnn, "s", "x.append(math.floor(2.5))");
  EXPECT_EQ(ResultJson(RunIn(kAnn, "s", "[x, open('/tmp/n').read()]").outcome), R"([[1,2],"7"])");
  EXPECT_EQ(RunIn(kAnn, "s", "1/0").session, SessionFate::kKept);
  EXPECT_EQ(ResultJson(RunIn(kAnn, "s", "len(x)").outcome), "2");
}

TEST_P(CodeActTest, ASessionLostToALimitOrACrashIsReportedAndNeverSilentlyFresh) {
  for (const char* fatal : {"while True: pass", "import os; os.abort()"}) {
    RunIn(kAnn, "s", "x = 1", Restart::kIfLost);
    std::optional<Result<CodeRun>> run;
    Wait(Start({.owner = kAnn,
                .code = fatal,
                .setting = Open(),
                .limits = Limits{.wall_time = 300ms},
                .session = SessionRequest{.name = "s"}},
               run));
    ASSERT_TRUE(*run) << run->error().message();
    EXPECT_EQ((*run)->session, SessionFate::kLost) << fatal;
    const CodeRun after = RunIn(kAnn, "s", "print('executed')");
    EXPECT_EQ(after.outcome.reason, RunReason::kLost) << fatal;
    EXPECT_EQ(after.outcome.stdout_text, "");
  }
  EXPECT_EQ(ResultJson(RunIn(kAnn, "s", "'x' in globals()", Restart::kIfLost).outcome), "false");
}

TEST_P(CodeActTest, AForkGoesItsOwnWayWhereTheEngineCanCopy) {
  RunIn(kAnn, "s", "x = ['common']");
  auto forked = Wait(SpawnFuture(callers_.get_executor(), [this]() -> asio::awaitable<std::string> {
    auto result = co_await runner_->Fork({kAnn, "s"}, "t", Open());
    co_return result ? "" : result.error().message();
  }));
  if (!can_copy()) {
    EXPECT_THAT(forked, HasSubstr("run the session in engine wasm"));
    EXPECT_THAT(runner_->sessions().Names(kAnn), ElementsAre("s"));
    return;
  }
  ASSERT_EQ(forked, "");
  RunIn(kAnn, "t", "x.append('theirs')");
  RunIn(kAnn, "s", "x.append('mine')");
  EXPECT_EQ(ResultJson(RunIn(kAnn, "s", "x").outcome), R"(["common","mine"])");
  EXPECT_EQ(ResultJson(RunIn(kAnn, "t", "x").outcome), R"(["common","theirs"])");
}

TEST_P(CodeActTest, FilesOfARunWithAMountComeBack) {
  if (GetParam() != EngineKind::kWasm) jail::SkipIfOwnersCannotBeMapped();
  workspace::TestDirectory host;
  host.Put("a.txt", "alpha");
  CodeSetting setting;
  setting.mounts = {{.host = host.path().string(),
                     .point = {.guest_path = "/data", .mode = MountMode::kReadWrite}}};
  const auto run =
      Run({.owner = kAnn,
           .code = "open('/data/b.txt', 'w').write(open('/data/a.txt').read().upper())",
           .setting = Open(setting)});
  ASSERT_TRUE(run) << run.error().message();
  ASSERT_EQ(run->outcome.files.size(), 1u) << Ending(run->outcome);
  EXPECT_EQ(run->outcome.files[0].path, "/data/b.txt");
  EXPECT_EQ(host.Get("b.txt"), "ALPHA");
}

TEST_P(CodeActTest, ExecuteCodeFromEndToEnd) {
  std::atomic<int> calls = 0;
  CodeActProvider provider(*runner_);
  ASSERT_TRUE(provider.AddTool(Add(calls)));
  const CodeActScope scope = *provider.BeginRun(kAnn);
  std::vector<Content> contents;
  const auto invoke = [&](std::string code) {
    ToolRun run;
    Wait(SpawnFuture(callers_.get_executor(), [&]() -> asio::awaitable<void> {
      Invocation invocation;
      invocation.keywords.items.emplace_back(std::string("code"), std::move(code));
      auto result = co_await scope.tool->Invoke(std::move(invocation), run);
      EXPECT_TRUE(result);
      contents = *std::move(result);
    }));
  };
  invoke("print('sum:', add(1, 2))");
  EXPECT_THAT(contents, ElementsAre(Content(TextContent{.text = "sum: 3\n"})));
  invoke("x = 1");
  EXPECT_THAT(
      contents,
      ElementsAre(Content(TextContent{.text = "Code executed successfully without output."})));
  invoke("print('before')\nopen('/output/a.txt', 'w').write('kept')\nraise ValueError('no')");
  ASSERT_EQ(contents.size(), 3u);
  EXPECT_EQ(contents[0], Content(TextContent{.text = "before\n"}));
  EXPECT_EQ(std::get<ErrorContent>(contents[1]).type, "ValueError");
  EXPECT_EQ(std::get<DataContent>(contents[2]).path, "/output/a.txt");
  EXPECT_EQ(std::get<DataContent>(contents[2]).bytes, "kept");
}

TEST_P(CodeActTest, FiftyRunsAndTenSessionsAtOnce) {
  std::atomic<int> calls = 0;
  CodeSetting with_tools;
  with_tools.tools = std::make_shared<const ToolSet>(std::vector{Add(calls)});
  const auto setting = Open(with_tools);
  std::vector<std::optional<Result<CodeRun>>> runs(150);
  std::vector<std::future<void>> futures;
  for (std::size_t i = 0; i < 50; ++i) {
    futures.push_back(Start({.owner = i % 2 == 0 ? kAnn : kBob,
                             .code = "add(" + std::to_string(i) + ", 1)",
                             .setting = setting,
                             .wait = kPatience},
                            runs[i]));
  }
  // Ten runs in each of ten sessions: each adds one, and the last to come sees them all.
  for (std::size_t i = 50; i < runs.size(); ++i) {
    futures.push_back(Start({.owner = i % 2 == 0 ? kAnn : kBob,
                             .code = "n = globals().get('n', 0) + 1; n",
                             .setting = setting,
                             .session = SessionRequest{.name = "s" + std::to_string(i % 10)},
                             .wait = kPatience},
                            runs[i]));
  }
  for (auto& future : futures) Wait(std::move(future));
  for (std::size_t i = 0; i < 50; ++i) {
    ASSERT_TRUE(*runs[i]) << runs[i]->error().message();
    EXPECT_EQ((*runs[i])->outcome.result, Value(static_cast<std::int64_t>(i) + 1));
  }
  std::int64_t total = 0;
  for (std::size_t i = 50; i < runs.size(); ++i) {
    ASSERT_TRUE(*runs[i]) << runs[i]->error().message();
    total += *(*runs[i])->outcome.result->If<std::int64_t>();
  }
  EXPECT_EQ(total, 10 * (1 + 2 + 3 + 4 + 5 + 6 + 7 + 8 + 9 + 10));
  EXPECT_EQ(calls, 50);
  EXPECT_EQ(runner_->sessions().Names(kAnn).size() + runner_->sessions().Names(kBob).size(), 10u);
}

TEST_P(CodeActTest, CloseDuringRunsEndsThemAllAndLeavesNothing) {
  std::vector<std::optional<Result<CodeRun>>> runs(20);
  std::vector<std::future<void>> futures;
  std::atomic<std::size_t> started = 0;
  std::promise<void> all_started;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    CellRun request{.owner = kAnn,
                    .code = "print('on', flush=True)\nwhile True: pass",
                    .setting = Open(),
                    .limits = Limits{.wall_time = kPatience, .cpu_time = kPatience}};
    request.on_output = [&](OutputStream, std::string_view) {
      if (++started == 1) all_started.set_value();
    };
    if (i % 2 == 0) request.session = SessionRequest{.name = "s" + std::to_string(i / 4)};
    futures.push_back(Start(std::move(request), runs[i]));
  }
  Wait(all_started.get_future());
  Wait(SpawnFuture(callers_.get_executor(), runner_->Close()));
  for (auto& future : futures) Wait(std::move(future));
  for (const auto& run : runs) {
    if (*run) {
      EXPECT_EQ((*run)->outcome.status, RunStatus::kCancelled) << Ending((*run)->outcome);
    } else {
      EXPECT_EQ(run->error().code(), ErrorCode::kUnavailable) << run->error().message();
    }
  }
  EXPECT_EQ(engine_->stats().cells_live, 0u);
  Close();
  EXPECT_TRUE(TakeCensus().processes.empty());
}

}  // namespace
}  // namespace caisson::testing
