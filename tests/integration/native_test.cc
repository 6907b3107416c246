// Features that only engine native has: packages, threads, processes; and what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>

#include "jail/cgroup.h"
#include "tests/integration/census.h"
#include "tests/integration/guest.h"

namespace caisson::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Returns processes that this one has started and not reaped.
std::vector<pid_t> OwnChildren() {
  std::vector<pid_t> children;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream list(task.path() / "children");
    for (pid_t child = 0; list >> child;) children.push_back(child);
  }
  return children;
}

class NativeTest : public ::testing::Test {
 protected:
  Outcome Run(std::string code, Limits limits = {}) {
    return RunCode(*engine_, std::move(code), limits);
  }
  bool Has(const std::string& package) {
    return Run("import importlib.util\nimportlib.util.find_spec('" + package + "') is not None")
               .result == Value(true);
  }

  std::unique_ptr<NativeEngine> engine_ = StartNative();
};

TEST_F(NativeTest, RunsNumpyAndPandas) {
  if (!Has("numpy") || !Has("pandas")) GTEST_SKIP() << "numpy or pandas is not installed";
  EXPECT_EQ(Run("import numpy as np; float(np.arange(10).mean())").result, Value(4.5));
  EXPECT_EQ(Run("import pandas as pd; int(pd.DataFrame({'a': [1, 2]}).a.sum())").result, Value(3));
}

// Libraries that get no memory crash, or raise errors of other names. Whatever they do, it was the
// limit.
class ShortOfMemoryTest : public NativeTest, public ::testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(
    Libraries, ShortOfMemoryTest,
    ::testing::Values(
        "import io, pandas as pd\nlen(pd.read_csv(io.StringIO('a,b\\n' + '1,2.5\\n' * 400000)))",
        "import numpy as np, pandas as pd\nlen(pd.unique(np.arange(1_000_000) * 7))",
        "import numpy as np, pandas as pd\nf = pd.DataFrame({'k': np.arange(300_000)})\n"
        "len(f.merge(f, on='k'))",
        "import numpy as np\nfloat(np.sort(np.random.rand(3_000_000))[::2].copy().sum())",
        "import numpy as np\na = np.ones((900, 900))\nfloat((a @ a).sum())",
        "import lxml.etree as e\nlen(e.fromstring('<a>' + '<b c=\"d\">x</b>' * 100000 + '</a>'))",
        "import matplotlib; matplotlib.use('Agg')\nimport matplotlib.pyplot as plt\n"
        "plt.figure(figsize=(40, 40)).gca().plot(range(100))\nplt.savefig('/tmp/p.png')"));

TEST_P(ShortOfMemoryTest, EndsAsMemoryOrCompletes) {
  const std::string code = GetParam();
  const std::string package = code.substr(7, code.find_first_of(" .;\n,", 7) - 7);
  if (package != "io" && !Has(package)) GTEST_SKIP() << package << " is not installed";
  if (code.contains("pandas") && !Has("pandas")) GTEST_SKIP() << "pandas is not installed";
  bool has_ended_at_limit = false;
  for (const std::uint64_t mib : {8u, 16u, 24u, 40u, 56u, 72u, 96u, 128u, 240u, 400u}) {
    const Outcome outcome =
        Run(code, {.wall_time = 60s, .cpu_time = 60s, .memory_bytes = mib << 20});
    if (outcome.status == RunStatus::kCompleted) continue;
    has_ended_at_limit = true;
    EXPECT_EQ(outcome.status, RunStatus::kLimit) << mib << " MiB: " << Ending(outcome);
    EXPECT_EQ(outcome.reason, RunReason::kMemory) << mib << " MiB: " << Ending(outcome);
  }
  EXPECT_TRUE(has_ended_at_limit);
}

TEST_F(NativeTest, APlotIsCaptured) {
  if (!Has("matplotlib")) GTEST_SKIP() << "matplotlib is not installed";
  const Outcome outcome =
      Run("import matplotlib.pyplot as plt\nplt.plot([1, 4, 9])\nplt.savefig('/output/plot.png')",
          {.wall_time = 60s, .cpu_time = 60s});
  ASSERT_EQ(outcome.files.size(), 1u) << Ending(outcome) << outcome.stderr_text;
  EXPECT_EQ(outcome.files[0].path, "/output/plot.png");
  EXPECT_THAT(outcome.files[0].contents, StartsWith("\x89PNG"));
}

TEST_F(NativeTest, ThreadsCallToolsSideBySide) {
  Guest guest = Guest::Open(*engine_);
  guest.Start({.code = "from concurrent.futures import ThreadPoolExecutor\n"
                       "with ThreadPoolExecutor(8) as pool: r = list(pool.map(tool, range(8)))\nr",
               .tools = {"tool"}});
  std::vector<ToolCall> calls;
  for (int i = 0; i < 8; ++i) calls.push_back(guest.NextCall());  // All open at once.
  for (auto call = calls.rbegin(); call != calls.rend(); ++call) {
    const auto number = *call->positional.items.at(0).If<std::int64_t>();
    ASSERT_TRUE(guest.Answer(call->seq, Value(number * 10)));
  }
  EXPECT_EQ(ResultJson(guest.End()), "[0,10,20,30,40,50,60,70]");
}

TEST_F(NativeTest, ProcessesRunWhereTheLimitAllowsThem) {
  const char* code =
      "import os\nr, w = os.pipe()\nchild = os.fork()\n"
      "if child == 0:\n  os.write(w, b'child'); os._exit(0)\n"
      "os.waitpid(child, 0)\nos.read(r, 9).decode()";
  EXPECT_EQ(Run(code, {.processes = 4}).result, Value(std::string("child")));
  EXPECT_EQ(Run(code).status, RunStatus::kFailed);
}

// Within one process a lock excludes nobody anyway (ADR 44).
TEST_F(NativeTest, SeveralProcessesHaveNoLocksThatExcludeNobody) {
  const char* code = "import fcntl\nfcntl.lockf(open('/tmp/a', 'w'), fcntl.LOCK_EX)";
  EXPECT_EQ(Run(code).status, RunStatus::kCompleted);
  EXPECT_EQ(Run(code, {.processes = 2}).error->type, "PermissionError");
  EXPECT_EQ(
      Run("import sqlite3\nd = sqlite3.connect('file:/tmp/a.db?vfs=unix-dotfile', uri=True)\n"
          "d.execute('create table t(x)')\nd.execute('insert into t values (7)')\nd.commit()\n"
          "d.execute('select x from t').fetchone()[0]",
          {.processes = 2})
          .result,
      Value(7));
}

// The kernel counts the pipes of all cells together, because they have one user id. Beyond a limit
// it makes new pipes smaller.
TEST_F(NativeTest, PipesOfOneOwnerLeaveThoseOfAnotherTheirSize) {
  constexpr const char* kHog =
      "import os\nheld = []\n"
      "while len(held) < 55:\n"
      "    try: ends = os.pipe()\n"
      "    except OSError: break\n"
      "    os.close(ends[1]); held.append(ends[0])\n"
      "tool()";
  std::vector<Guest> hogs;
  for (int i = 0; i < 40; ++i) {
    hogs.push_back(Guest::Open(*engine_, "mallory"));
    hogs.back().Start({.code = kHog, .limits = {.wall_time = 60s}, .tools = {"tool"}});
  }
  for (Guest& hog : hogs) hog.NextCall();
  const Outcome outcome =
      Run("import fcntl, os\n[fcntl.fcntl(fd, fcntl.F_GETPIPE_SZ) for fd in (1, 2, os.pipe()[0])]");
  EXPECT_EQ(ResultJson(outcome), "[65536,65536,65536]");
}

TEST_F(NativeTest, APipeThatIsClosedCanBeMadeAgain) {
  const Outcome outcome =
      Run("import os\nfor _ in range(300):\n"
          "    for fd in os.pipe() + os.pipe(): os.close(fd)\n'made'");
  EXPECT_EQ(ResultJson(outcome), "\"made\"");
}

TEST_F(NativeTest, EachProcessOfAPoolHasItsPipes) {
  const Outcome outcome =
      Run("import os\nends = [os.pipe() for _ in range(18)]\n"
          "for r, w in ends[:15]:\n"
          "    if os.fork() == 0:\n        os.write(w, b'x'); os._exit(0)\n"
          "b''.join(os.read(r, 1) for r, w in ends[:15]).decode()",
          {.wall_time = 20s, .processes = 16});
  EXPECT_EQ(ResultJson(outcome), "\"xxxxxxxxxxxxxxx\"");
}

// Each child alone is within the limit; only a cgroup counts them together.
TEST_F(NativeTest, MemoryIsLimitedForAllProcessesTogether) {
  if (!jail::Cgroup::Available()) GTEST_SKIP() << "no cgroup controllers are delegated to us";
  const Outcome outcome = Run(
      "import os, time\nr, w = os.pipe()\nchildren = []\n"
      "for _ in range(8):\n"
      "  child = os.fork()\n"
      "  if child == 0:\n"
      "    kept = bytearray(48 << 20)\n"
      "    for i in range(0, len(kept), 4096): kept[i] = 1\n"
      "    os.close(w); os.read(r, 1); os._exit(0)\n"
      "  children.append(child)\n"
      "os.close(w) if any(os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT) for _ in [0]) else 0\n"
      "sorted({os.waitstatus_to_exitcode(os.waitpid(c, 0)[1]) for c in children})[0]",
      {.memory_bytes = 64 << 20, .processes = 10});
  EXPECT_TRUE(outcome.result == Value(-9) || outcome.reason == RunReason::kMemory)
      << Ending(outcome) << ResultJson(outcome);
  EXPECT_THAT(outcome.boundary.missing, Not(Contains("cgroup")));
}

TEST_F(NativeTest, CpuTimeIsLimitedForAllProcessesTogether) {
  const Outcome outcome =
      Run("import os, time\nfor _ in range(3):\n  if os.fork() == 0:\n    while True: pass\n"
          "while True: time.sleep(1000)",
          {.wall_time = 60s, .cpu_time = 600ms, .processes = 4});
  EXPECT_EQ(outcome.reason, RunReason::kCpuTime) << Ending(outcome);
  EXPECT_LT(outcome.usage.wall, 20s);
  EXPECT_GE(outcome.usage.cpu, 600ms);
}

// A fork server that hangs owes answers; detecting that does not take ten seconds.
TEST_F(NativeTest, AStoppedForkServerIsReplaced) {
  const auto fork_servers = OwnChildren();
  ASSERT_FALSE(fork_servers.empty());
  for (const pid_t fork_server : fork_servers) ::kill(fork_server, SIGSTOP);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(Run("6 * 7").result, Value(42));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 9s);
  EXPECT_EQ(engine_->stats().workers_lost, 1u);
}

TEST_F(NativeTest, TheTreeIsDeadBeforeTheOutcomeIsThere) {
  const Census before = TakeCensus();
  const Outcome outcome =
      Run("import os, time\nfor _ in range(3):\n"
          "  if os.fork() == 0:\n    while True: time.sleep(1000)\n'parent'",
          {.processes = 8});
  EXPECT_EQ(outcome.result, Value(std::string("parent"))) << Ending(outcome);
  EXPECT_EQ(TakeCensus(), before);
}

TEST_F(NativeTest, CellsDoNotShareChance) {
  const char* code =
      "import os, random, secrets, tempfile, uuid\n"
      "[random.random(), os.urandom(8).hex(), secrets.token_hex(8), str(uuid.uuid4()),"
      " tempfile.mktemp(), random.SystemRandom().random()]";
  std::vector<std::set<std::string>> seen(6);
  for (int i = 0; i < 8; ++i) {
    const Outcome outcome = Run(code);
    ASSERT_TRUE(outcome.result) << Ending(outcome);
    const auto& items = outcome.result->If<List>()->items;
    for (std::size_t j = 0; j < seen.size(); ++j) seen[j].insert(*ToJson(items.at(j)));
  }
  for (const auto& kind : seen) EXPECT_EQ(kind.size(), 8u);
}

TEST_F(NativeTest, NumpyPreloadedDoesNotShareChanceEither) {
  if (!Has("numpy")) GTEST_SKIP() << "numpy is not installed";
  auto options = NativeOptions();
  options.kinds = {{.preload = {"numpy", "numpy.random"}}};
  auto engine = StartNative(options);
  const char* code =
      "import numpy.random as r\n[float(r.random()), float(r.default_rng().random())]";
  EXPECT_NE(ResultJson(RunCode(*engine, code)), ResultJson(RunCode(*engine, code)));
}

// The next cell must not see what one cell does to itself, in the same slot or another.
TEST_F(NativeTest, ACellFindsNothingOfTheOnesBefore) {
  const std::string look =
      "import fcntl, os\n"
      "def nameless():\n"
      "  try: fd = os.open('/tmp', os.O_TMPFILE | os.O_RDWR)\n"
      "  except OSError: return None\n"
      "  number = os.fstat(fd).st_ino\n"
      "  os.close(fd)\n"
      "  return number\n"
      "found = [fcntl.fcntl(0, fcntl.F_GETFL), nameless()]\n";
  const std::string leave =
      "fcntl.fcntl(0, fcntl.F_SETFL, os.O_NONBLOCK | os.O_APPEND)\n"
      "for _ in range(100): nameless()\n";
  std::set<std::string> seen;
  for (int i = 0; i < 30; ++i) seen.insert(ResultJson(Run(look + leave + "found")));
  EXPECT_EQ(seen.size(), 1u) << ::testing::PrintToString(seen);
}

// The stack of a cell is a copy of one that held data about the end of other cells.
TEST_F(NativeTest, ACellsMemoryDoesNotTellWhatTheOneBeforeTook) {
  for (int i = 0; i < 8; ++i) {
    Run("kept = bytearray(77 << 20)\nfor i in range(0, len(kept), 4096): kept[i] = 1\nlen(kept)");
    const Outcome outcome = Run(
        "import ctypes\nsize = 96 << 10\n"
        "top = ctypes.c_void_p.in_dll(ctypes.CDLL(None), 'program_invocation_name').value & ~7\n"
        "words = set((ctypes.c_uint64 * (size // 8)).from_address(top - size))\n"
        "[kib for kib in range(77 << 10, 128 << 10) if kib in words and kib << 10 in words]");
    EXPECT_EQ(ResultJson(outcome), "[]") << Ending(outcome);
  }
}

TEST_F(NativeTest, ErrorsOfTheKernelNameAnAlternative) {
  const auto message = [this](const char* code, std::uint64_t processes) {
    return Ending(Run(code, {.processes = processes}));
  };
  EXPECT_THAT(message("import socket\nsocket.socket()", 1), HasSubstr("has no network"));
  EXPECT_THAT(message("import socket\nsocket.socketpair()", 1), HasSubstr("has no network"));
  const char* run = "import subprocess\nsubprocess.run(['id'])";
  EXPECT_THAT(message(run, 1), HasSubstr("no program can be started here"));
  EXPECT_THAT(message(run, 4), HasSubstr("no program can be started here"));
  EXPECT_THAT(message("import multiprocessing\nmultiprocessing.Pool(2)", 4),
              HasSubstr("ThreadPoolExecutor"));
}

TEST_F(NativeTest, UnsupportedRequestsAreRefusedWithTheReason) {
  Guest guest = Guest::Open(*engine_);
  guest.Start({.code = "tool()", .tools = {"tool"}});
  guest.NextCall();
  const auto saved = guest.TrySave(AfterSave::kKeep);
  ASSERT_FALSE(saved);
  EXPECT_THAT(saved.error().message(), HasSubstr("cannot save"));
  const auto restored = Guest::Restore(*engine_, SavedCell{.bytes = "x"});
  ASSERT_FALSE(restored);
  EXPECT_NE(restored.error().message(), "");
  ASSERT_TRUE(guest.Answer(0, Value(5)));
  EXPECT_EQ(guest.End().result, Value(5));

  Guest replayed = Guest::Open(*engine_);
  replayed.Start(
      {.code = "1", .recording = Recording{.seed = std::string(32, 's'), .must_repeat = true}});
  const auto refused = replayed.EndOrError();
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("cannot repeat"));
}

}  // namespace
}  // namespace caisson::testing
