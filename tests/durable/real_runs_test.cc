// Runs that wait, in real cells, over every store: asleep, elsewhere, replayed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <mutex>

#include "engine/wasm/kept_workers.h"
#include "tests/durable/host.h"
#include "tests/integration/engines.h"
#include "tests/integration/guest.h"
#include "tests/store/backend.h"

namespace caisson::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class RealRunsTest : public ::testing::TestWithParam<BackendKind> {
 protected:
  std::unique_ptr<Host> Open(DurableSettings settings = {}, EngineKind kind = EngineKind::kWasm) {
    return std::make_unique<Host>(StartEngine(kind), backend_->Open(), *keys_, setting_, settings);
  }
  std::unique_ptr<Host> Over(std::unique_ptr<Engine> engine) {
    return std::make_unique<Host>(std::move(engine), backend_->Open(), *keys_, setting_);
  }
  // Appends its text to the effects, and answers how many there are.
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
  std::vector<std::string> effects() {
    const std::scoped_lock lock(mutex_);
    return effects_;
  }
  static std::string IdOf(const RunView& view, const std::string& text) {
    for (const OutcomeApproval& approval : view.outcome.approvals) {
      if (*approval.arguments.If<Dict>()->Find("text") == Value(text)) return approval.id;
    }
    return "(nobody asks about " + text + ")";
  }

  std::mutex mutex_;
  std::vector<std::string> effects_;
  const std::unique_ptr<Backend> backend_ = MakeBackend(GetParam());
  std::unique_ptr<KeyRing> keys_ = std::make_unique<KeyRing>(KeyRing::Generate());
  const IsolationKey ann_ = OwnerNamed("ann");
  const std::shared_ptr<const CodeSetting> setting_ = [this] {
    CodeSetting setting;
    setting.policy.preset = PolicyPreset::kOpen;
    setting.tools = std::make_shared<const ToolSet>(
        std::vector{Noting("send", Approval::Always()), Noting("note", {})});
    return std::make_shared<const CodeSetting>(std::move(setting));
  }();
};

constexpr const char* kTwoQuestions =
    "import random, time, uuid\n"
    "lines = 0\n"
    "def line(text):\n"
    "  global lines\n"
    "  lines += 1\n"
    "  print(lines, text)\n"
    "line('begin'); note(text='first')\n"
    "chance = [random.random(), str(uuid.uuid4()), time.time()]\n"
    "line('ask'); send(text='one')\n"
    "line('again'); send(text='two')\n"
    "line('end'); note(text='last')\n"
    "[lines, chance, random.random()]";

TEST_P(RealRunsTest, ARunWithTwoQuestionsMovesTwiceAndRepeatsNothing) {
  auto first = Open();
  RunView view = first->Start(ann_, {.code = kTwoQuestions});
  ASSERT_EQ(view.state, RunState::kWaiting) << Ending(view.outcome);
  EXPECT_GT(view.saved_bytes, 1000u);
  EXPECT_EQ(view.outcome.stdout_text, "1 begin\n2 ask\n");
  first.reset();

  auto second = Open();
  ASSERT_TRUE(second->Decide(ann_, IdOf(view, "one")));
  view = second->Await(ann_, view.id);
  ASSERT_EQ(view.state, RunState::kWaiting) << Ending(view.outcome);
  EXPECT_EQ(view.outcome.stdout_text, "1 begin\n2 ask\n3 again\n");
  second.reset();

  auto third = Open();
  ASSERT_TRUE(third->Decide(ann_, IdOf(view, "two")));
  view = third->Await(ann_, view.id);
  EXPECT_EQ(view.outcome.status, RunStatus::kCompleted) << Ending(view.outcome);
  EXPECT_EQ(view.outcome.stdout_text, "1 begin\n2 ask\n3 again\n4 end\n");
  EXPECT_THAT(effects(), ElementsAre("first", "one", "two", "last"));
  ASSERT_EQ(view.outcome.calls.size(), 4u);
  for (const OutcomeCall& call : view.outcome.calls) EXPECT_EQ(call.outcome, "returned");
}

// Whoever has not got the key cannot open the sleeping run, as whoever has another build cannot: it begins again.
TEST_P(RealRunsTest, AReplayGivesTheSameAsGoingOn) {
  auto first = Open();
  RunView view = first->Start(ann_, {.code = kTwoQuestions});
  ASSERT_TRUE(first->Decide(ann_, IdOf(view, "one")));
  view = first->Await(ann_, view.id);
  ASSERT_EQ(view.state, RunState::kWaiting);
  first.reset();
  const std::unique_ptr<KeyRing> old =
      std::exchange(keys_, std::make_unique<KeyRing>(KeyRing::Generate()));
  auto second = Open();
  ASSERT_TRUE(second->Decide(ann_, IdOf(view, "two")));
  view = second->Await(ann_, view.id);
  EXPECT_EQ(view.outcome.status, RunStatus::kCompleted) << Ending(view.outcome);
  EXPECT_EQ(view.outcome.stdout_text, "1 begin\n2 ask\n3 again\n4 end\n");
  EXPECT_THAT(effects(), ElementsAre("first", "one", "two", "last"));
}

// The same program under another build id: another build, to whoever looks.
WasmEngineOptions InstallAnotherBuild(const std::filesystem::path& directory) {
  WasmEngineOptions options = WasmOptions();
  std::ifstream file(options.worker_path, std::ios::binary);
  std::string program(std::istreambuf_iterator<char>(file), {});
  using namespace std::string_view_literals;
  constexpr auto kNote = "\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0"sv;  // And then the id.
  char& id = program.at(program.find(kNote) + kNote.size());
  id = static_cast<char>(id ^ 1);
  std::filesystem::create_directories(directory);
  std::filesystem::copy_file(std::filesystem::canonical(options.base_path),
                             directory / "caisson.base");
  options.worker_path = directory / "caisson-worker";
  options.base_path = directory / "caisson.base";
  std::ofstream(options.worker_path, std::ios::binary) << program;
  std::filesystem::permissions(options.worker_path, std::filesystem::perms(0755));
  return options;
}

TEST_P(RealRunsTest, AfterAnUpgradeKeptWorkersTakeItUpAndOthersReplayIt) {
  std::string pattern = "/tmp/caisson-kept.XXXXXX";
  const std::filesystem::path directory = ::mkdtemp(pattern.data());
  const WasmEngineOptions older = InstallAnotherBuild(directory / "older");
  auto first = Over(StartWasm(older));
  RunView view = first->Start(ann_, {.code = kTwoQuestions});
  ASSERT_EQ(view.state, RunState::kWaiting) << Ending(view.outcome);
  const std::string build = view.saved_build;
  first.reset();

  auto kept = FindKeptBuilds(directory);
  ASSERT_TRUE(kept) << kept.error().message();
  auto second = Over(
      std::make_unique<KeptWorkers>(StartWasm(), *std::move(kept), [&](const KeptBuild& found) {
        EXPECT_EQ(found.worker_path, older.worker_path);
        return Result<std::unique_ptr<Engine>>(StartWasm(older));
      }));
  ASSERT_TRUE(second->Decide(ann_, IdOf(view, "one")));
  view = second->Await(ann_, view.id);
  ASSERT_EQ(view.state, RunState::kWaiting) << Ending(view.outcome);
  EXPECT_EQ(view.saved_build, build);
  second.reset();

  auto third = Open();
  EXPECT_EQ(third->Now(third->runs().Find(ann_, view.id))->saved_build, build);
  ASSERT_TRUE(third->Decide(ann_, IdOf(view, "two")));
  view = third->Await(ann_, view.id);
  EXPECT_EQ(view.outcome.status, RunStatus::kCompleted) << Ending(view.outcome);
  EXPECT_EQ(view.outcome.stdout_text, "1 begin\n2 ask\n3 again\n4 end\n");
  EXPECT_THAT(effects(), ElementsAre("first", "one", "two", "last"));
  std::filesystem::remove_all(directory);
}

TEST_P(RealRunsTest, QuestionsSideBySideAreAnsweredInAnyOrder) {
  auto host = Open({.keep_parked = 0ns});
  RunView view = host->Start(ann_, {.code = "import asyncio\n"
                                            "async def ask(t):\n"
                                            "  try: return await send(text=t)\n"
                                            "  except ApprovalDenied: return 'no'\n"
                                            "await asyncio.gather(ask('a'), ask('b'), ask('c'))"});
  ASSERT_EQ(view.outcome.approvals.size(), 3u) << Ending(view.outcome);
  const std::string a = IdOf(view, "a");
  const std::string b = IdOf(view, "b");
  const std::string c = IdOf(view, "c");
  ASSERT_TRUE(host->Decide(ann_, c));
  while (effects().empty()) std::this_thread::yield();
  EXPECT_THAT(effects(), ElementsAre("c"));
  ASSERT_TRUE(host->Decide(ann_, a, ApprovalState::kDenied));
  ASSERT_TRUE(host->Decide(ann_, b));
  host->runs().Tend();
  do {
    view = host->Await(ann_, view.id);
  } while (view.state != RunState::kFinished);
  EXPECT_EQ(ResultJson(view.outcome), R"(["no",2,1])");
  EXPECT_THAT(effects(), ElementsAre("c", "b"));
}

TEST_P(RealRunsTest, CodeThatCatchesEverythingCannotMakeADeniedEffectHappen) {
  auto host = Open();
  RunView view = host->Start(ann_, {.code = "try: send(text='x')\n"
                                            "except BaseException as e: print(type(e).__name__)\n"
                                            "'went on'"});
  ASSERT_TRUE(host->Decide(ann_, IdOf(view, "x"), ApprovalState::kDenied));
  view = host->Await(ann_, view.id);
  EXPECT_EQ(view.outcome.stdout_text, "ApprovalDenied\n");
  EXPECT_EQ(ResultJson(view.outcome), R"("went on")");
  EXPECT_THAT(effects(), IsEmpty());
}

TEST_P(RealRunsTest, WaitingIsNotTheRunsTimeAndTheRestOfItIs) {
  auto host = Open();
  StartRun request{.code = "send(text='x')\nwhile True: pass"};
  request.limits = Limits{.wall_time = 2s};
  RunView view = host->Start(ann_, request);
  ASSERT_EQ(view.state, RunState::kWaiting);
  // Longer than it may run, by the clock of another run.
  CodeSetting plain;
  plain.policy.preset = PolicyPreset::kOpen;
  host->Start(ann_, {.code = "import time\ntime.sleep(2.5)",
                     .setting = std::make_shared<const CodeSetting>(plain)});
  ASSERT_TRUE(host->Decide(ann_, IdOf(view, "x")));
  view = host->Await(ann_, view.id);
  EXPECT_THAT(effects(), ElementsAre("x"));
  EXPECT_EQ(view.outcome.reason, RunReason::kWallTime) << Ending(view.outcome);
  EXPECT_LT(view.outcome.usage.wall, 4s);
}

TEST_P(RealRunsTest, AFileLeftBehindIsThereAfterwards) {
  auto host = Open({.keep_parked = 0ns});
  RunView view = host->Start(ann_, {.code = "f = open('/output/f', 'w'); f.write('before ')\n"
                                            "send(text='x'); f.write('after'); f.close()"});
  ASSERT_TRUE(host->Decide(ann_, IdOf(view, "x")));
  host->runs().Tend();
  view = host->Await(ann_, view.id);
  ASSERT_EQ(view.outcome.files.size(), 1u) << Ending(view.outcome);
  EXPECT_EQ(*host->Now(host->runs().File(ann_, view.id, 0)), "before after");
  EXPECT_EQ(host->Now(host->runs().File(OwnerNamed("bob"), view.id, 0)).error().code(),
            ErrorCode::kNotFound);
}

TEST_P(RealRunsTest, ANativeRunWaitsInMemoryAlone) {
  auto host = Open({}, EngineKind::kNative);
  RunView view = host->Start(ann_, {.code = "send(text='x')\n'done'"});
  ASSERT_EQ(view.state, RunState::kWaiting) << Ending(view.outcome);
  EXPECT_EQ(view.saved_bytes, 0u);
  ASSERT_TRUE(host->Decide(ann_, IdOf(view, "x")));
  EXPECT_EQ(ResultJson(host->Await(ann_, view.id).outcome), R"("done")");
  EXPECT_THAT(effects(), ElementsAre("x"));
}

INSTANTIATE_OVER_BACKENDS(RealRunsTest);

}  // namespace
}  // namespace caisson::testing
