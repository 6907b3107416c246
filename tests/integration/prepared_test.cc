// Prepared cells (runs/cells/cell_registry.h) on the real engines: they are used, what they show is
// never older than the run, and nothing of them is left.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <filesystem>
#include <functional>
#include <future>
#include <thread>

#include "base/spawn.h"
#include "jail/testing/namespaces.h"
#include "runs/cells/code_runner.h"
#include "tests/integration/census.h"
#include "tests/integration/engines.h"
#include "tests/integration/guest.h"
#include "workspace/testing/test_directory.h"

namespace caisson::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using workspace::TestDirectory;

const OwnerId kAnn("ann");
const OwnerId kBob("bob");
constexpr auto kPatience = 60s;
constexpr const char* kShow = R"(
import os
[sorted(os.listdir('/data')), open('/data/a.txt').read(), os.stat('/data/a.txt').st_size,
 [sorted(f) for _, _, f in sorted(os.walk('/data'))], os.path.exists('/data/d/b.txt')]
)";

class PreparedTest : public OnEachEngine {
 protected:
  PreparedTest() {
    host_.Put("a.txt", "alpha\n");
    host_.Put("d/b.txt", "beta\n");
  }
  ~PreparedTest() override {
    Close();
    callers_.join();
    pool_.join();
  }

  void StartRunner(CellRegistryOptions cells = {}) {
    Close();
    runner_ = std::make_unique<CodeRunner>(
        *engine_, CodeRunnerOptions{.cells = cells, .pool = pool_.get_executor()});
  }
  void Close() {
    if (!runner_) return;
    Wait(SpawnFuture(callers_.get_executor(), runner_->Close()));
    runner_.reset();
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
  static bool Becomes(const std::function<bool()>& so) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (!so()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(1ms);
    }
    return true;
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
  Outcome RunCode(std::string code) {
    auto run = Run({.owner = kAnn, .code = std::move(code), .setting = setting_});
    EXPECT_TRUE(run) << run.error().message();
    return run ? std::move(run->outcome) : Outcome();
  }
  std::shared_ptr<const CodeSetting> Setting(MountMode mode) const {
    if (GetParam() != EngineKind::kWasm) jail::SkipIfOwnersCannotBeMapped();
    CodeSetting setting;
    setting.policy.preset = PolicyPreset::kOpen;
    setting.mounts = {
        {.host = host_.path().string(), .point = {.guest_path = "/data", .mode = mode}}};
    setting.tools = std::make_shared<const ToolSet>(
        std::vector{*Tool::Make({.name = "meanwhile"}, Inline([this](const Dict&) -> Value {
                                  if (meanwhile_) meanwhile_();
                                  return {};
                                }))});
    return std::make_shared<const CodeSetting>(std::move(setting));
  }
  // From here on a run with this setting finds a prepared cell.
  void Prepare(std::shared_ptr<const CodeSetting> setting) {
    setting_ = std::move(setting);
    for (int i = 0; i < 2; ++i) ASSERT_EQ(RunCode("1").status, RunStatus::kCompleted);
    AwaitPrepared();
  }
  void AwaitPrepared() {
    EXPECT_TRUE(Becomes([&] { return runner_->cells().waiting() == 1; }));
  }

  // Lanes resume waiting coroutines here, so it is destroyed after them.
  asio::thread_pool callers_{2};
  std::unique_ptr<Engine> engine_ = StartEngine(GetParam());
  TestDirectory host_;
  std::function<void()> meanwhile_;
  std::shared_ptr<const CodeSetting> setting_;
  asio::thread_pool pool_{2};
  std::unique_ptr<CodeRunner> runner_ =
      std::make_unique<CodeRunner>(*engine_, CodeRunnerOptions{.pool = pool_.get_executor()});
};
INSTANTIATE_TEST_SUITE_P(, PreparedTest,
                         ::testing::Values(EngineKind::kNative, EngineKind::kForeign),
                         [](const auto& info) { return NameOf(info.param); });

// In engine wasm, opening the directories is the only cost of mounts, and must happen when the run
// begins.
class WasmPreparedTest : public PreparedTest {};
INSTANTIATE_TEST_SUITE_P(, WasmPreparedTest, ::testing::Values(EngineKind::kWasm),
                         [](const auto& info) { return NameOf(info.param); });

TEST_P(WasmPreparedTest, NothingIsPrepared) {
  setting_ = Setting(MountMode::kReadWrite);
  for (int i = 0; i < 3; ++i) {
    host_.Put("a.txt", std::to_string(i));
    EXPECT_EQ(ResultJson(RunCode("open('/data/a.txt').read()")), '"' + std::to_string(i) + '"');
    EXPECT_TRUE(runner_->cells().empty());
  }
}

constexpr MountMode kModes[] = {MountMode::kReadOnly, MountMode::kReadWrite, MountMode::kOverlay};

TEST_P(PreparedTest, ARunIsServedByTheCellThatWaitsForIt) {
  const auto fork_server = Descendants();
  Prepare(Setting(MountMode::kReadOnly));
  const auto waiting = Descendants();
  EXPECT_GT(waiting.size(), fork_server.size());
  std::vector<pid_t> running;
  meanwhile_ = [&] { running = Descendants(); };
  EXPECT_EQ(RunCode("meanwhile()").status, RunStatus::kCompleted);
  // No other process was started. The judge of a foreign interpreter ends before code runs.
  EXPECT_GT(running.size(), fork_server.size());
  EXPECT_THAT(running, ::testing::IsSubsetOf(waiting));
  AwaitPrepared();
  const auto next = Descendants();
  EXPECT_EQ(next.size(), waiting.size());
  EXPECT_NE(next, waiting);  // It belonged to that run, and is gone with it (I8).
}

TEST_P(PreparedTest, TheDirectoryIsSeenAsItIsWhenTheRunBegins) {
  for (const MountMode mode : kModes) {
    host_.Put("a.txt", "alpha\n");
    host_.Put("d/b.txt", "beta\n");
    std::filesystem::remove_all(host_.path() / "new");
    StartRunner();
    Prepare(Setting(mode));
    ASSERT_EQ(runner_->cells().waiting(), 1u);
    host_.Put("a.txt", "changed meanwhile\n");
    std::filesystem::remove(host_.path() / "d/b.txt");
    host_.Put("d/c.txt", "other");
    host_.Put("new/x", "x");
    const auto waiting = Descendants();
    std::vector<pid_t> running;
    meanwhile_ = [&] { running = Descendants(); };
    const Outcome outcome = RunCode("meanwhile()" + std::string(kShow));
    EXPECT_EQ(
        ResultJson(outcome),
        R"([["a.txt","d","new"],"changed meanwhile\n",18,[["a.txt"],["c.txt"],["x"]],false])");
    EXPECT_FALSE(running.empty());
    EXPECT_THAT(running, ::testing::IsSubsetOf(waiting));
    std::filesystem::remove(host_.path() / "d/c.txt");
  }
}

TEST_P(PreparedTest, AHostChangeBeforeTheRunIsNoConflict) {
  Prepare(Setting(MountMode::kReadWrite));
  for (int i = 0; i < 5; ++i) {
    host_.Put("a.txt", "theirs\n");
    std::filesystem::rename(host_.path() / "a.txt", host_.path() / "b.txt");
    std::filesystem::rename(host_.path() / "b.txt", host_.path() / "a.txt");
    const Outcome outcome = RunCode("open('/data/a.txt', 'a').write('mine\\n')");
    EXPECT_EQ(outcome.status, RunStatus::kCompleted) << Ending(outcome);
    EXPECT_EQ(host_.Get("a.txt"), "theirs\nmine\n");
    AwaitPrepared();
  }
}

// Even directly after the start: file systems stamp in ticks.
TEST_P(PreparedTest, AHostChangeDuringTheRunIsAConflict) {
  Prepare(Setting(MountMode::kReadWrite));
  for (int i = 0; i < 5; ++i) {
    host_.Put("a.txt", "before\n");
    meanwhile_ = [&] { host_.Put("a.txt", "theirs\n"); };
    const Outcome outcome = RunCode("meanwhile()\nopen('/data/a.txt', 'a').write('mine\\n')");
    EXPECT_EQ(outcome.reason, RunReason::kFiles) << Ending(outcome);
    EXPECT_THAT(Ending(outcome), HasSubstr("MountConflict"));
    EXPECT_EQ(host_.Get("a.txt"), "theirs\n");
    AwaitPrepared();
  }
}

TEST_P(PreparedTest, ChangesAreAppliedAndCaptured) {
  Prepare(Setting(MountMode::kReadWrite));
  const Outcome outcome =
      RunCode("import os\nopen('/data/n', 'w').write('n')\nos.remove('/data/d/b.txt')");
  EXPECT_EQ(outcome.status, RunStatus::kCompleted) << Ending(outcome);
  EXPECT_EQ(host_.Tree(), "a.txt d/ n ");
  AwaitPrepared();
  EXPECT_EQ(ResultJson(RunCode("import os\nsorted(os.listdir('/data'))")), R"(["a.txt","d","n"])");
}

TEST_P(PreparedTest, ADirectoryThatWasReplacedIsTheNewOne) {
  const std::filesystem::path old = host_.path().string() + "_old";
  Prepare(Setting(MountMode::kReadOnly));
  std::filesystem::rename(host_.path(), old);
  std::filesystem::create_directory(host_.path());
  host_.Put("a.txt", "new one\n");
  EXPECT_EQ(ResultJson(RunCode("open('/data/a.txt').read()")), R"("new one\n")");
  std::filesystem::remove_all(old);
}

TEST_P(PreparedTest, ADirectoryThatWasRemovedOrBecameALinkIsRefused) {
  const std::filesystem::path old = host_.path().string() + "_old";
  Prepare(Setting(MountMode::kReadOnly));
  std::filesystem::rename(host_.path(), old);
  auto run = Run({.owner = kAnn, .code = "1", .setting = setting_});
  ASSERT_FALSE(run);
  EXPECT_THAT(run.error().message(), HasSubstr("there is no such directory"));
  std::filesystem::create_directory_symlink(old, host_.path());
  run = Run({.owner = kAnn, .code = "1", .setting = setting_});
  ASSERT_FALSE(run);
  EXPECT_THAT(run.error().message(), HasSubstr("it is a link"));
  std::filesystem::remove(host_.path());
  std::filesystem::rename(old, host_.path());
}

TEST_P(PreparedTest, ADirectoryThatChangedItsOwnerIsReadAsTheNewOne) {
  jail::SkipWithoutSysAdmin();
  Prepare(Setting(MountMode::kReadOnly));
  ASSERT_EQ(::chown(host_.path().c_str(), 12345, 12345), 0);
  ASSERT_EQ(::chmod(host_.path().c_str(), 0700), 0);
  EXPECT_EQ(ResultJson(RunCode("import os\nsorted(os.listdir('/data'))")), R"(["a.txt","d"])");
}

TEST_P(PreparedTest, NobodyElseGetsIt) {
  Prepare(Setting(MountMode::kReadOnly));
  const auto waiting = Descendants();
  std::vector<pid_t> running;
  meanwhile_ = [&] { running = Descendants(); };
  ASSERT_TRUE(Run({.owner = kBob, .code = "meanwhile()", .setting = setting_}));
  EXPECT_GT(running.size(), waiting.size());
  EXPECT_EQ(runner_->cells().waiting(), 1u);
}

TEST_P(PreparedTest, OtherLimitsGetAnotherCell) {
  Prepare(Setting(MountMode::kReadOnly));
  auto run = Run({.owner = kAnn,
                  .code = "import os\nos.waitpid(os.fork() or os._exit(0), 0)[1]",
                  .setting = setting_,
                  .limits = Limits{.processes = 4}});
  ASSERT_TRUE(run);
  EXPECT_EQ(ResultJson(run->outcome), "0") << Ending(run->outcome);
  EXPECT_EQ(runner_->cells().waiting(), 1u);
}

TEST_P(PreparedTest, CellsOfSeveralProcessesArePreparedToo) {
  CodeSetting setting;
  setting.policy.preset = PolicyPreset::kOpen;
  setting.limits.processes = 4;
  setting_ = std::make_shared<const CodeSetting>(setting);
  for (int i = 0; i < 4; ++i) {
    const Outcome outcome = RunCode("import os\nos.waitpid(os.fork() or os._exit(0), 0)[1]");
    EXPECT_EQ(ResultJson(outcome), "0") << Ending(outcome);
    if (i > 0) AwaitPrepared();
  }
}

TEST_P(PreparedTest, ASessionBeginsInOne) {
  Prepare(Setting(MountMode::kOverlay));
  const auto waiting = Descendants();
  std::vector<pid_t> running;
  meanwhile_ = [&] { running = Descendants(); };
  for (const char* code : {"meanwhile()\nx = open('/data/a.txt').read()", "x"}) {
    const auto run = Run(
        {.owner = kAnn, .code = code, .setting = setting_, .session = SessionRequest{.name = "s"}});
    ASSERT_TRUE(run);
    EXPECT_EQ(run->session, SessionFate::kKept);
    if (code == std::string("x")) EXPECT_EQ(ResultJson(run->outcome), R"("alpha\n")");
  }
  EXPECT_EQ(running, waiting);
}

TEST_P(PreparedTest, OneThatDiedIsReplacedUnnoticed) {
  const auto fork_server = Descendants();
  Prepare(Setting(MountMode::kReadOnly));
  std::vector<pid_t> cell;
  std::ranges::set_difference(Descendants(), fork_server, std::back_inserter(cell));
  ASSERT_FALSE(cell.empty());
  for (const pid_t pid : cell) ::kill(pid, SIGKILL);
  EXPECT_TRUE(Becomes([&] { return Descendants() == fork_server; }));
  const Outcome outcome = RunCode(kShow);
  EXPECT_EQ(outcome.status, RunStatus::kCompleted) << Ending(outcome);
}

TEST_P(PreparedTest, OneThatNobodyTakesGoesByItself) {
  StartRunner({.idle = 300ms});
  setting_ = Setting(MountMode::kOverlay);
  const Census before = TakeCensus();
  for (int i = 0; i < 2; ++i) RunCode("1");
  EXPECT_TRUE(Becomes([&] { return TakeCensus() == before; }))
      << ::testing::PrintToString(TakeCensus());
  EXPECT_EQ(RunCode("1").status, RunStatus::kCompleted);
}

// When it returns, not some time later.
TEST_P(PreparedTest, CloseLeavesNothing) {
  setting_ = Setting(MountMode::kReadWrite);
  RunCode("1");
  Close();
  const Census before = TakeCensus();
  StartRunner();
  Prepare(Setting(MountMode::kReadWrite));
  EXPECT_NE(TakeCensus(), before);
  Wait(SpawnFuture(callers_.get_executor(), runner_->Close()));
  EXPECT_EQ(TakeCensus(), before);
  Wait(SpawnFuture(callers_.get_executor(), runner_->Close()));
}

TEST_P(PreparedTest, CloseWhileRunsAndPreparationsAreUnderWayLeavesNothing) {
  setting_ = Setting(MountMode::kReadWrite);
  RunCode("1");
  StartRunner();
  const Census before = TakeCensus();
  for (int round = 0; round < 5; ++round) {
    StartRunner();
    std::vector<std::optional<Result<CodeRun>>> runs(8);
    std::vector<std::future<void>> futures;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      CellRun request{.owner = i % 2 == 0 ? kAnn : kBob, .code = "1", .setting = setting_};
      if (i == 7) request.code = "while True: pass";
      futures.push_back(Start(std::move(request), runs[i]));
    }
    for (int i = 0; i < round; ++i) Wait(std::move(futures[static_cast<std::size_t>(i)]));
    Wait(SpawnFuture(callers_.get_executor(), runner_->Close()));
    for (auto& future : futures) {
      if (future.valid()) Wait(std::move(future));
    }
    EXPECT_EQ(runner_->cells().waiting(), 0u);
    EXPECT_TRUE(Becomes([&] { return TakeCensus() == before; }))
        << ::testing::PrintToString(TakeCensus());
  }
}

}  // namespace
}  // namespace caisson::testing
