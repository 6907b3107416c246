// Runs that wait, in real cells, over every store: saved, moved, replayed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <mutex>
#include <span>

#include "engine/wasm/kept_workers.h"
#include "engine/wasm/worker/saved_cell.h"
#include "runs/build_text.h"
#include "runs/journal/records.h"
#include "tests/durable/test_host.h"
#include "tests/integration/engines.h"
#include "tests/integration/guest.h"
#include "tests/store/backend.h"

namespace caisson::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class RealRunsTest : public ::testing::TestWithParam<BackendKind> {
 protected:
  std::unique_ptr<Host> Open(RunSettings settings = {}, EngineKind kind = EngineKind::kWasm) {
    return std::make_unique<Host>(StartEngine(kind), backend_->Open(), *keys_, setting_, settings);
  }
  std::unique_ptr<Host> Over(std::unique_ptr<Engine> engine) {
    return std::make_unique<Host>(std::move(engine), backend_->Open(), *keys_, setting_);
  }
  // Appends its text to the effects, and returns their number.
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

// A host without the key cannot open the saved run, like a host with another build: it starts
// again.
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

// The same program with another build id: it counts as another build.
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

// ---- Time ----

double Unix(SystemTime time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}
double Number(const RunView& view, std::size_t index) {
  const auto& result = view.outcome.result;
  const auto* list = result ? result->If<List>() : nullptr;
  const double* number = list == nullptr ? nullptr : list->items.at(index).If<double>();
  EXPECT_TRUE(number != nullptr) << Ending(view.outcome);
  return number == nullptr ? 0 : *number;
}

TEST_P(RealRunsTest, TimeIsRealForCodeWhoseToolsNeedApproval) {
  for (const EngineKind kind : {EngineKind::kWasm, EngineKind::kNative}) {
    auto host = Open({}, kind);
    const double before = Unix(std::chrono::system_clock::now());
    const RunView view =
        host->Start(ann_, {.code = "import asyncio, datetime, time\n"
                                   "t, m, p = time.time(), time.monotonic(), time.perf_counter()\n"
                                   "time.sleep(0.1)\n"
                                   "await asyncio.sleep(0.1)\n"
                                   "try: await asyncio.wait_for(asyncio.sleep(60), 0.1)\n"
                                   "except TimeoutError: pass\n"
                                   "[t, datetime.datetime.now().timestamp(), time.time() - t, "
                                   "time.monotonic() - m, time.perf_counter() - p]"});
    const double after = Unix(std::chrono::system_clock::now());
    EXPECT_GE(Number(view, 0), before - 0.001);
    EXPECT_LE(Number(view, 1), after + 0.001);
    for (const std::size_t passed : {2u, 3u, 4u}) {
      EXPECT_GE(Number(view, passed), 0.299);
      EXPECT_LE(Number(view, passed), after - before + 0.001);
    }
    EXPECT_GE(view.outcome.usage.wall, 300ms);
  }
}

constexpr const char* kNap =
    "import asyncio, time\n"
    "t, m = time.time(), time.monotonic()\n"
    "note(text='before')\n"
    "await asyncio.sleep(2)\n"
    "note(text='after')\n"
    "[time.time() - t, time.monotonic() - m]";

TEST_P(RealRunsTest, ALongSleepNeedsNoCell) {
  auto host = Open({.keep_parked = 0ns});
  host->runs().Tend();
  const auto begun = host->Now(host->runs().StartDetached(ann_, {.code = kNap}));
  ASSERT_TRUE(begun) << begun.error().message();
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  const auto asleep = [&] {
    return effects().size() == 1 && host->engine().stats().cells_live == 0;
  };
  while (!asleep() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  EXPECT_EQ(host->Now(host->runs().Find(ann_, begun->id))->state, RunState::kRunning);
  const RunView view = host->Await(ann_, begun->id);
  EXPECT_EQ(view.outcome.status, RunStatus::kCompleted) << Ending(view.outcome);
  EXPECT_THAT(effects(), ElementsAre("before", "after"));
  for (const std::size_t passed : {0u, 1u}) {
    EXPECT_GE(Number(view, passed), 1.999);
    EXPECT_LT(Number(view, passed), 20);
  }
  EXPECT_GE(view.outcome.usage.wall, 2s);
}

// A caller that waits is told of its end, wherever it slept.
TEST_P(RealRunsTest, ACallerWaitsForARunThatSleepsInTheStore) {
  auto host = Open({.keep_parked = 0ns});
  host->runs().Tend();
  const RunView view = host->Start(ann_, {.code = kNap});
  EXPECT_EQ(view.outcome.status, RunStatus::kCompleted) << Ending(view.outcome);
}

TEST_P(RealRunsTest, ASleepingRunWakesInAnotherProcess) {
  auto first = Open();
  const auto begun = first->Now(first->runs().StartDetached(ann_, {.code = kNap}));
  ASSERT_TRUE(begun) << begun.error().message();
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (first->Now(first->runs().Find(ann_, begun->id))->saved_bytes == 0 &&
         std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  first.reset();
  auto second = Open();
  second->runs().Tend();
  const RunView view = second->Await(ann_, begun->id);
  EXPECT_EQ(view.outcome.status, RunStatus::kCompleted) << Ending(view.outcome);
  EXPECT_GE(Number(view, 0), 1.999);
  EXPECT_GE(Number(view, 1), 1.999);
  EXPECT_THAT(effects(), ElementsAre("before", "after"));
}

TEST_P(RealRunsTest, TheWallLimitEndsASleepWhereverItIsSlept) {
  for (const auto keep_parked : {std::chrono::nanoseconds(0s), std::chrono::nanoseconds(60s)}) {
    auto host = Open({.keep_parked = keep_parked});
    host->runs().Tend();
    RunSpec request{.code = "import time\ntime.sleep(100)"};
    request.limits = Limits{.wall_time = 1500ms};
    const RunView view = host->Start(ann_, request);
    EXPECT_EQ(view.outcome.reason, RunReason::kWallTime) << Ending(view.outcome);
    EXPECT_GE(view.outcome.usage.wall, 1500ms);
    EXPECT_LT(view.outcome.usage.wall, 20s);
  }
}

// The person takes longer than the code waits, and the host is restarted meanwhile.
TEST_P(RealRunsTest, ATimeOutBesideAQuestionPassesInAnotherProcess) {
  auto first = Open();
  RunView view = first->Start(ann_, {.code = "import asyncio\n"
                                             "try: await asyncio.wait_for(send(text='x'), 1.5)\n"
                                             "except TimeoutError: note(text='late')"});
  ASSERT_EQ(view.state, RunState::kWaiting) << Ending(view.outcome);
  first.reset();
  auto second = Open();
  second->runs().Tend();
  do {
    view = second->Await(ann_, view.id);
  } while (view.state != RunState::kFinished);
  EXPECT_EQ(view.outcome.status, RunStatus::kCompleted) << Ending(view.outcome);
  EXPECT_THAT(effects(), ElementsAre("late"));
}

// The store of the first process, and a build that cannot restore what it saved.
TEST_P(RealRunsTest, AnotherBuildIsToldTheRecordedTimes) {
  auto first = Open();
  RunView view = first->Start(
      ann_, {.code = "import random, time\n"
                     "t, m = time.time(), time.monotonic(); time.sleep(0.5)\n"
                     "note(text=repr([t, time.time(), time.monotonic(), random.random()]))\n"
                     "send(text=f'at {time.time()}')\n"
                     "note(text='end')\n"
                     "[t, time.time(), time.monotonic() - m]"});
  ASSERT_EQ(view.state, RunState::kWaiting) << Ending(view.outcome);
  first.reset();
  std::string pattern = "/tmp/caisson-kept.XXXXXX";
  const std::filesystem::path directory = ::mkdtemp(pattern.data());
  auto second = Over(StartWasm(InstallAnotherBuild(directory / "newer")));
  const double before = Unix(std::chrono::system_clock::now());
  ASSERT_TRUE(second->Decide(ann_, view.outcome.approvals.at(0).id));
  view = second->Await(ann_, view.id);
  EXPECT_EQ(view.outcome.status, RunStatus::kCompleted) << Ending(view.outcome);
  ASSERT_EQ(effects().size(), 3u);
  EXPECT_EQ(effects().back(), "end");
  EXPECT_LT(Number(view, 0), before);          // Recorded,
  EXPECT_GE(Number(view, 1), before - 0.001);  // and then real.
  EXPECT_GE(Number(view, 2), before - Number(view, 0) - 0.001);
  std::filesystem::remove_all(directory);
}

TEST_P(RealRunsTest, ARunThatReadsItsClocksTooOftenIsForItsOwnBuildAlone) {
  const std::string code =
      "import time\nfor i in range(300_000): t = time.time()\nsend(text='x')\nnote(text='end')";
  std::string pattern = "/tmp/caisson-kept.XXXXXX";
  const std::filesystem::path directory = ::mkdtemp(pattern.data());
  auto first = Open();
  RunView view = first->Start(ann_, {.code = code});
  ASSERT_EQ(view.state, RunState::kWaiting) << Ending(view.outcome);
  first.reset();
  {
    auto same = Open();
    ASSERT_TRUE(same->Decide(ann_, IdOf(view, "x")));
    view = same->Await(ann_, view.id);
    EXPECT_EQ(view.outcome.status, RunStatus::kCompleted) << Ending(view.outcome);
    EXPECT_THAT(effects(), ElementsAre("x", "end"));
    view = same->Start(ann_, {.code = code});
  }
  auto other = Over(StartWasm(InstallAnotherBuild(directory / "newer")));
  ASSERT_TRUE(other->Decide(ann_, IdOf(view, "x")));
  view = other->Await(ann_, view.id);
  EXPECT_EQ(view.outcome.status, RunStatus::kFailed);
  EXPECT_EQ(view.outcome.reason, RunReason::kLost);
  ASSERT_TRUE(view.outcome.error);
  EXPECT_THAT(view.outcome.error->message, AllOf(HasSubstr("read its clocks more often"),
                                                 HasSubstr("256 KiB"), HasSubstr("[worker] keep")));
  EXPECT_EQ(view.outcome.calls.size(), 1u);
  EXPECT_THAT(effects(), ElementsAre("x", "end"));
  std::filesystem::remove_all(directory);
}

// More runs than the engine has places: those that wait longest are moved to the store.
TEST_P(RealRunsTest, ParkedRunsGoToTheStoreUnderPressureTheOldestFirst) {
  WasmEngineOptions options = WasmOptions();
  options.cells_per_lane = 2;
  auto host = Over(StartWasm(options));
  host->runs().Tend();
  const std::string code = "n = 41\nsend(text=WHO)\nprint(n + 1)";
  const auto ask = [&](const std::string& who) {
    return host->Start(ann_, {.code = "WHO = '" + who + "'\n" + code});
  };
  std::vector<RunView> runs;
  for (const char* who : {"a", "b", "c", "d"}) {
    runs.push_back(ask(who));
    ASSERT_EQ(runs.back().state, RunState::kWaiting) << Ending(runs.back().outcome);
    EXPECT_LE(host->engine().stats().cells_live, 2u);
  }
  for (const RunView& view : runs) {
    ASSERT_TRUE(host->Decide(ann_, view.outcome.approvals.at(0).id));
    const RunView ended = host->Await(ann_, view.id);
    EXPECT_EQ(ended.outcome.stdout_text, "42\n") << Ending(ended.outcome);
  }
  EXPECT_THAT(effects(), ElementsAre("a", "b", "c", "d"));
}

TEST_P(RealRunsTest, ParkedRunsThatHoldMuchMemoryGoToTheStore) {
  auto host = Open({.max_parked_bytes = 2u << 20});
  const auto ask = [&](const std::string& who, std::size_t bytes) {
    return host->Start(ann_, {.code = "held = bytearray(" + std::to_string(bytes) +
                                      ")\nfor i in range(0, len(held), 64): held[i] = 7\n" +
                                      "send(text='" + who + "')\nprint(sum(held) // 7)"});
  };
  const auto await_cells = [&](std::uint64_t cells) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (host->engine().stats().cells_live != cells &&
           std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
    }
    EXPECT_EQ(host->engine().stats().cells_live, cells);
  };
  const RunView small = ask("small", 64);
  const RunView big = ask("big", 1 << 20);
  EXPECT_EQ(host->engine().stats().cells_live, 2u);
  const RunView bigger = ask("bigger", 3 << 19);
  await_cells(1);  // Without the small one it was still too much.
  for (const RunView& view : {small, big, bigger}) {
    ASSERT_TRUE(host->Decide(ann_, view.outcome.approvals.at(0).id));
  }
  EXPECT_EQ(host->Await(ann_, small.id).outcome.stdout_text, "1\n");
  EXPECT_EQ(host->Await(ann_, big.id).outcome.stdout_text, "16384\n");
  EXPECT_EQ(host->Await(ann_, bigger.id).outcome.stdout_text, "24576\n");
  EXPECT_THAT(effects(), UnorderedElementsAre("small", "big", "bigger"));
}

// It opens, because it has our seal, but its stack holds no valid return address.
TEST_P(RealRunsTest, ASavedCellThatCrashesEveryWorkerEndsItsRunAndRepeatsNothing) {
  auto first = Open();
  RunView view = first->Start(ann_, {.code = "send(text='x')\nsend(text='y')"});
  ASSERT_EQ(view.state, RunState::kWaiting) << Ending(view.outcome);
  first.reset();

  auto second = Open();
  RunStore& runs = second->store().runs();
  SavedRun saved = *second->Now(runs.LoadSaved(ann_, view.id));
  const CellBuild build = *ParseBuild(saved.build);
  const SealBinding binding{.owner = OwnerId(ann_.str()),
                            .run = view.id.str(),
                            .call_seq = saved.seq,
                            .build_id = build.build_id,
                            .base_hash = build.base_hash};
  SleepRecord record = *DecodeSleepRecord(keys_->OpenCell(binding, saved.sealed)->bytes);
  std::string& bytes = record.cell.bytes;
  const std::span blob(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  const auto fields = worker::DecodeSaved({build.build_id, build.base_hash}, blob);
  ASSERT_TRUE(fields) << fields.error().message();
  bytes.replace(static_cast<std::size_t>(fields->stack.data() - blob.data()), fields->stack.size(),
                fields->stack.size(), 'A');
  saved.sealed = *keys_->SealCell(binding, {Encode(record)});
  const SystemTime now = std::chrono::system_clock::now();
  const Lease lease = *second->Now(
      runs.Claim(ann_, view.id, {.holder = "forger", .now = now, .until = now + 1min}));
  ASSERT_TRUE(second->Now(runs.Wait(ann_, view.id, lease, saved, now)));
  ASSERT_TRUE(second->Now(runs.Release(ann_, view.id, lease)));

  second->runs().Tend();
  ASSERT_TRUE(second->Decide(ann_, IdOf(view, "x")));
  view = second->Await(ann_, view.id);
  // Which wall it hits depends on what it finds there.
  EXPECT_THAT(view.outcome.reason, AnyOf(RunReason::kCrashed, RunReason::kDeniedSyscall))
      << Ending(view.outcome);
  EXPECT_LE(second->engine().stats().workers_lost, 2u);
  EXPECT_THAT(effects(), ElementsAre("x"));
  EXPECT_EQ(second->Start(ann_, {.code = "1"}).outcome.status, RunStatus::kCompleted);
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

// AC-52: two identical calls are two calls; an approval for one does not cover the other.
TEST_P(RealRunsTest, CallsThatLookAlikeAreAskedAboutEach) {
  auto host = Open();
  RunView view =
      host->Start(ann_, {.code = "import asyncio\n"
                                 "await asyncio.gather(send(text='a'), send(text='a'))"});
  ASSERT_EQ(view.outcome.approvals.size(), 2u) << Ending(view.outcome);
  const std::string second = view.outcome.approvals[1].id;
  ASSERT_TRUE(host->Decide(ann_, view.outcome.approvals[0].id));
  while (effects().empty()) std::this_thread::yield();
  EXPECT_THAT(effects(), ElementsAre("a"));
  ASSERT_TRUE(host->Decide(ann_, second, ApprovalState::kDenied));
  do {
    view = host->Await(ann_, view.id);
  } while (view.state != RunState::kFinished);
  EXPECT_EQ(view.outcome.error->type, "ApprovalDenied") << Ending(view.outcome);
  EXPECT_THAT(effects(), ElementsAre("a"));
}

// AC-57
TEST_P(RealRunsTest, OneRunsWaitIsNotAnothersTime) {
  auto host = Open();
  const RunView waiting = host->Start(ann_, {.code = "send(text='x')"});
  ASSERT_EQ(waiting.state, RunState::kWaiting);
  RunSpec busy{.code = "while True: pass"};
  busy.limits = Limits{.wall_time = 300ms};
  const RunView ended = host->Start(ann_, busy);
  EXPECT_EQ(ended.outcome.reason, RunReason::kWallTime) << Ending(ended.outcome);
  EXPECT_EQ(host->Now(host->runs().Find(ann_, waiting.id))->state, RunState::kWaiting);
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
  RunSpec request{.code = "send(text='x')\nwhile True: pass"};
  request.limits = Limits{.wall_time = 2s};
  RunView view = host->Start(ann_, request);
  ASSERT_EQ(view.state, RunState::kWaiting);
  // Longer than its limit, by the clock of another run.
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
