// Branches of native sessions (ADR 37): a copy continues from the state of its source, and
// afterwards neither sees the other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <boost/asio/thread_pool.hpp>
#include <random>
#include <thread>

#include "base/sanitized.h"
#include "jail/testing/namespaces.h"
#include "tests/integration/census.h"
#include "tests/integration/guest.h"
#include "workspace/testing/test_directory.h"
#include "workspace/workspace.h"

namespace caisson::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::AnyOf;
using ::testing::HasSubstr;

// Where the cells are made: each alone, or one after the other in the fork server's slots (ADR 34).
enum class Where { kAlone, kInSlots };

class BranchTest : public ::testing::TestWithParam<Where> {
 protected:
  void SetUp() override {
    if (kIsSanitized) GTEST_SKIP() << "a sanitizer's memory is not copied";
    Start(NativeOptions());
  }

  void Start(NativeEngineOptions options) {
    engine_ = StartNative(std::move(options));
    // From the second cell on there are slots.
    for (int i = 0; i < 4; ++i) {
      ASSERT_EQ(ResultJson(RunCode(*engine_, "1")), "1");
    }
  }

  Limits Allowed(Limits limits = {}) const {
    if (GetParam() == Where::kAlone) limits.processes = 2;
    return limits;
  }
  Guest Open() { return Guest::Open(*engine_); }
  std::string Run(Guest& guest, const std::string& code, Limits limits = {}) const {
    guest.Start({.code = code, .limits = Allowed(limits)}, AfterRun::kKeep);
    return ResultJson(guest.End());
  }
  Guest Restore(const SavedCell& saved, Limits limits = {}) {
    auto copy = Guest::Restore(*engine_, saved, Allowed(limits));
    EXPECT_TRUE(copy) << copy.error().message();
    return *std::move(copy);
  }
  SavedCell Save(Guest& guest) {
    auto saved = guest.TrySave(AfterSave::kKeep);
    EXPECT_TRUE(saved) << saved.error().message();
    return saved ? *std::move(saved) : SavedCell{};
  }
  Guest Branch(Guest& guest, Limits limits = {}) { return Restore(Save(guest), limits); }

  // Returns a session that has run `code`.
  Guest After(const std::string& code) {
    Guest guest = Open();
    guest.Start({.code = code, .limits = Allowed()}, AfterRun::kKeep);
    const Outcome outcome = guest.End();
    EXPECT_EQ(outcome.status, RunStatus::kCompleted) << Ending(outcome);
    return guest;
  }
  // Returns why a session that has run `code` cannot be branched. The session continues in any
  // case.
  std::string Refusal(const std::string& code) {
    Guest guest = After(code + "\nkept = 'kept'");
    const auto saved = guest.TrySave(AfterSave::kKeep);
    EXPECT_FALSE(saved);
    EXPECT_EQ(Run(guest, "kept"), "\"kept\"");
    if (!saved) EXPECT_EQ(saved.error().code(), ErrorCode::kFailedPrecondition);
    return saved ? "" : saved.error().message();
  }

  // Released cells are reaped soon, and then their descriptors close; the fork server stays.
  Census AwaitRest() {
    for (int i = 0; i < 500 && TakeCensus().processes.size() > 1; ++i) {
      EXPECT_EQ(ResultJson(RunCode(*engine_, "1")), "1");
    }
    while (true) {
      Census census = TakeCensus();
      std::this_thread::sleep_for(20ms);
      if (TakeCensus() == census) return census;
    }
  }

  std::unique_ptr<NativeEngine> engine_;
};
INSTANTIATE_TEST_SUITE_P(, BranchTest, ::testing::Values(Where::kAlone, Where::kInSlots),
                         [](const auto& info) {
                           return info.param == Where::kAlone ? "alone" : "in_slots";
                         });

TEST_P(BranchTest, BothGoTheirOwnWays) {
  Guest source = After("x = ['common']");
  Guest branch = Branch(source);
  EXPECT_EQ(Run(branch, "x.append('branch'); x"), R"(["common","branch"])");
  EXPECT_EQ(Run(source, "x.append('source'); x"), R"(["common","source"])");
  EXPECT_EQ(Run(branch, "x"), R"(["common","branch"])");
}

TEST_P(BranchTest, GoesOnWithWhateverIsInMemory) {
  Guest source = After(R"(
import asyncio, contextvars, dataclasses, functools, re, sys
def counter(start):
    while True:
        start += 1
        yield start
numbers = counter(10)
next(numbers)
@dataclasses.dataclass
class Point:
    x: int
    y: int = 2
    def __add__(self, other): return Point(self.x + other.x, self.y + other.y)
point = Point(1)
@functools.lru_cache
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
fib(80)
try:
    1 / 0
except ZeroDivisionError as error:
    caught = error
pattern = re.compile(r'(\w+)@(\w+)')
variable = contextvars.ContextVar('v'); variable.set('set')
async def later(): return 'later'
coroutine = later()
)");
  Guest branch = Branch(source);
  EXPECT_EQ(
      Run(branch, R"(
import traceback
[next(numbers), (point + point).y, fib(80), fib.cache_info().hits > 0,
 traceback.format_exception(caught)[-1].strip(), pattern.match('a@b').groups(), variable.get(),
 await coroutine, type(point) is Point])"),
      R"([12,4,23416728348467685,true,"ZeroDivisionError: division by zero",["a","b"],"set","later",true])");
  EXPECT_EQ(Run(source, "[next(numbers), next(numbers)]"), "[12,13]");
}

TEST_P(BranchTest, GoesOnWithLibrariesThatWereLoadedMeanwhile) {
  Guest source = After(R"(
import decimal, sqlite3, ctypes, zlib, bz2, lzma, hashlib, array, mmap
decimal.getcontext().prec = 40
third = decimal.Decimal(1) / 3
base = sqlite3.connect(':memory:')
base.execute('create table t (x)')
base.execute('insert into t values (41)')
digest = hashlib.sha256(b'a')
packer = zlib.compressobj()
packed = packer.compress(b'x' * 1000)
shared = mmap.mmap(-1, 8192)
shared[:5] = b'hello'
)");
  Guest branch = Branch(source);
  EXPECT_EQ(Run(branch, R"(
base.execute('update t set x = x + 1')
digest.update(b'b')
shared[0:1] = b'j'
[str(third), base.execute('select x from t').fetchone()[0],
 digest.hexdigest() == hashlib.sha256(b'ab').hexdigest(),
 zlib.decompress(packed + packer.flush()) == b'x' * 1000, bytes(shared[:5]).decode()])"),
            "[\"0.3333333333333333333333333333333333333333\",42,true,true,\"jello\"]");
  EXPECT_EQ(Run(source, "[base.execute('select x from t').fetchone()[0], shared[:5].decode()]"),
            R"([41,"hello"])");
}

TEST_P(BranchTest, GoesOnWithNumpyAndPandas) {
  if (ResultJson(RunCode(*engine_, "import numpy, pandas\n1")) != "1") GTEST_SKIP();
  Guest source = After(R"(
import numpy as np, pandas as pd
a = np.arange(1_000_000).reshape(1000, 1000)
f = pd.DataFrame({'x': [1, 2, 3], 'k': list('aba')})
np.linalg.inv(np.eye(50))
)");
  Guest branch = Branch(source);
  EXPECT_EQ(Run(branch,
                "a[0, 0] = 7\n[int(a.sum()), int((a.astype(float) @ np.eye(1000))[0, 0]),"
                " f.groupby('k').x.sum().to_dict()]"),
            R"([499999500007,7,{"a":4,"b":2}])");
  EXPECT_EQ(Run(source, "int(a.sum())"), "499999500000");
}

TEST_P(BranchTest, GoesOnWithItsFiles) {
  Guest source = After(R"(
import os
os.makedirs('/tmp/deep/er')
open('/tmp/deep/er/a.txt', 'w').write('alpha')
os.chmod('/tmp/deep/er/a.txt', 0o640)
os.utime('/tmp/deep/er/a.txt', (1000, 2000))
os.utime('/tmp/deep', (3000, 4000))
os.symlink('a.txt', '/tmp/deep/er/link')
open('/output/big.bin', 'wb').write(os.urandom(3_000_000))
reading = open('/tmp/deep/er/a.txt')
reading.read(2)
writing = open('/output/log', 'a')
writing.write('one ')
writing.flush()
library = open(os.__file__)
library.readline()
raw = os.open('/tmp/raw', os.O_RDWR | os.O_CREAT)
os.write(raw, b'0123456789')
twin = os.dup(raw)
os.lseek(raw, 3, 0)
os.chdir('/tmp/deep')
os.umask(0o077)
import hashlib
whole = hashlib.sha256(open('/output/big.bin', 'rb').read()).hexdigest()
)");
  Guest branch = Branch(source);
  const std::string look = R"(
status = os.stat('/tmp/deep/er/a.txt')
after = [reading.read(), oct(status.st_mode)[-3:], status.st_mtime, os.stat('/tmp/deep').st_mtime,
 open('er/link').read(), hashlib.sha256(open('/output/big.bin', 'rb').read()).hexdigest() == whole,
 library.readline() != '', os.read(raw, 2).decode(), os.read(twin, 2).decode(), os.getcwd(), oct(os.umask(0o077))]
writing.write('two'); writing.flush()
after + [open('/output/log').read()])";
  const std::string seen =
      R"(["pha","640",2000.0,4000.0,"alpha",true,true,"34","56","/tmp/deep","0o77","one two"])";
  EXPECT_EQ(Run(branch, look), seen);
  // Files are separate as well.
  EXPECT_EQ(Run(branch, "os.remove('/output/big.bin')\nopen('/tmp/new', 'w').write('x')"), "1");
  EXPECT_EQ(Run(source, "[os.path.exists('/tmp/new'), os.path.getsize('/output/big.bin')]"),
            "[false,3000000]");
  EXPECT_EQ(Run(source, look), seen);
}

TEST_P(BranchTest, GoesOnWithSignalsAndOutput) {
  Guest source = After(R"(
import signal, os, sys
seen = []
signal.signal(signal.SIGUSR1, lambda *_: seen.append('usr1'))
signal.signal(signal.SIGALRM, lambda *_: seen.append('alarm'))
saved = os.dup(1)
quiet = open('/tmp/quiet', 'w')
)");
  Guest branch = Branch(source);
  branch.Start({.code = R"(
os.kill(os.getpid(), signal.SIGUSR1)
signal.setitimer(signal.ITIMER_REAL, 0.01)
while 'alarm' not in seen: pass
os.dup2(quiet.fileno(), 1)
os.write(1, b'hidden')
os.dup2(saved, 1)
print('shown')
print('err', file=sys.stderr)
[seen, open('/tmp/quiet').read()])",
                .limits = Allowed()},
               AfterRun::kKeep);
  const Outcome outcome = branch.End();
  EXPECT_EQ(ResultJson(outcome), R"([["usr1","alarm"],"hidden"])");
  EXPECT_EQ(outcome.stdout_text, "shown\n");
  EXPECT_EQ(outcome.stderr_text, "err\n");
}

TEST_P(BranchTest, CallsTools) {
  Guest source = Open();
  const auto add = [](const ToolCall& call) -> ToolAnswer {
    return Value(std::get<std::int64_t>(call.positional.items[0].variant()) + 1);
  };
  const auto run = [&](Guest& guest, const char* code) {
    guest.Start({.code = code, .limits = Allowed(), .tools = {"add"}}, AfterRun::kKeep);
    return ResultJson(guest.Serve(add));
  };
  ASSERT_EQ(run(source, "import asyncio\nsum(await asyncio.gather(add(1), add(2)))"), "5");
  Guest branch = Branch(source);
  EXPECT_EQ(run(branch, "sum(await asyncio.gather(add(10), add(20))) + add(1)"), "34");
  EXPECT_EQ(run(source, "add(1)"), "2");
}

TEST_P(BranchTest, BranchesAreBranchedAndOneStateManyTimes) {
  Guest source = After("x = [0]");
  const SavedCell saved = Save(source);
  Guest first = Restore(saved);
  Guest second = Restore(saved);
  EXPECT_EQ(Run(first, "x.append(1); x"), "[0,1]");
  EXPECT_EQ(Run(second, "x.append(2); x"), "[0,2]");
  Guest deeper = Branch(first);
  Guest deepest = Branch(deeper);
  EXPECT_EQ(Run(deepest, "x.append(3); x"), "[0,1,3]");
  EXPECT_EQ(Run(deeper, "x"), "[0,1]");
  EXPECT_EQ(Run(source, "x"), "[0]");
}

TEST_P(BranchTest, ALargeStateIsCopied) {
  Guest source = After(
      "import hashlib\nb = bytearray(b'0123456789' * 3_000_000)\nl = list(range(500_000))\n"
      "d = {i: str(i) for i in range(100_000)}");
  Guest branch = Branch(source);
  EXPECT_EQ(Run(branch,
                "b[0] = 0\n[hashlib.sha256(b[1:]).hexdigest() == hashlib.sha256(b'0123456789' "
                "* 3_000_000).hexdigest(), sum(l), d[99_999]]"),
            "[false,124999750000,\"99999\"]");
  EXPECT_EQ(Run(source, "[b[0], len(b), sum(l)]"), "[48,30000000,124999750000]");
}

TEST_P(BranchTest, HasLimitsOfItsOwn) {
  Guest source = After("x = 1");
  Guest slow = Branch(source, {.wall_time = 300ms});
  slow.Start({.code = "while True: pass", .limits = Allowed({.wall_time = 300ms})});
  EXPECT_EQ(slow.End().reason, RunReason::kWallTime);
  Guest greedy = Branch(source);
  greedy.Start(
      {.code = "b = bytearray(200 << 20)", .limits = Allowed({.memory_bytes = 64u << 20})});
  EXPECT_EQ(greedy.End().reason, RunReason::kMemory);
  Guest generous = Branch(source);
  EXPECT_EQ(Run(generous, "len(bytearray(100 << 20))"), "104857600");
  EXPECT_EQ(Run(source, "x"), "1");
}

TEST_P(BranchTest, ACopyThatDoesNotFitItsMemoryIsRefused) {
  Guest source = After("b = b'x' * (150 << 20)");
  const auto copy = Guest::Restore(*engine_, Save(source), Allowed({.memory_bytes = 64u << 20}));
  ASSERT_FALSE(copy);
  EXPECT_THAT(copy.error().message(), HasSubstr("memory_bytes"));
  EXPECT_EQ(Run(source, "len(b)"), "157286400");
}

TEST_P(BranchTest, ChanceIsItsOwnWhereTheKernelGivesIt) {
  Guest source = After("import os, random, uuid\nrandom.seed(1)");
  const SavedCell saved = Save(source);
  Guest first = Restore(saved);
  Guest second = Restore(saved);
  const char* drawn = "[random.random(), os.urandom(8).hex(), str(uuid.uuid4())]";
  const std::string of_first = Run(first, drawn);
  const std::string of_second = Run(second, drawn);
  EXPECT_NE(of_first, of_second);
  // As in engine wasm: a generator is part of the branched state.
  EXPECT_EQ(of_first.substr(0, of_first.find(',')), of_second.substr(0, of_second.find(',')));
}

TEST_P(BranchTest, GoesOnAfterAFailedRun) {
  Guest source = After("x = 1");
  source.Start({.code = "y = 2\nraise ValueError('x')", .limits = Allowed()}, AfterRun::kKeep);
  EXPECT_EQ(source.End().status, RunStatus::kFailed);
  Guest branch = Branch(source);
  EXPECT_EQ(Run(branch, "x + y"), "3");
}

TEST_P(BranchTest, ASessionThatCannotBeCopiedIsRefusedWithTheReason) {
  EXPECT_THAT(Refusal("import threading\ngo = threading.Event()\n"
                      "t = threading.Thread(target=go.wait, daemon=True); t.start()"),
              HasSubstr("threads that still run"));
  EXPECT_THAT(Refusal("import os\nr, w = os.pipe()"), HasSubstr("is a pipe"));
  EXPECT_THAT(Refusal("f = open('/tmp/x', 'w+')\nimport os; os.remove('/tmp/x')"),
              HasSubstr("cannot be opened again"));
  EXPECT_THAT(Refusal("import os\nopen('/tmp/x', 'w')\nos.link('/tmp/x', '/tmp/y')"),
              HasSubstr("hard link"));
  EXPECT_THAT(Refusal("import os\nopen('/tmp/secret', 'w')\nos.chmod('/tmp/secret', 0)"),
              HasSubstr("/tmp/secret cannot be read"));
  EXPECT_THAT(Refusal("import os\nos.mkdir('/tmp/d'); os.chdir('/tmp/d'); os.rmdir('/tmp/d')"),
              HasSubstr("working directory"));
  if (GetParam() == Where::kAlone) {
    EXPECT_THAT(Refusal("import os, time\nif os.fork() == 0: time.sleep(1000)"),
                HasSubstr("child processes"));
  }
}

TEST_P(BranchTest, ThreadsThatHaveEndedAreNoObstacle) {
  Guest source = After(
      "import threading\nfrom concurrent.futures import ThreadPoolExecutor\n"
      "with ThreadPoolExecutor(1) as pool: x = sum(pool.map(int, '1234'))");
  Guest branch = Branch(source);
  EXPECT_EQ(Run(branch, "with ThreadPoolExecutor(1) as pool: x += sum(pool.map(int, '1234'))\nx"),
            "20");
}

TEST_P(BranchTest, ASessionThatIsTooLargeIsRefused) {
  NativeEngineOptions options = NativeOptions();
  options.max_saved_bytes = 20u << 20;
  Start(options);
  EXPECT_THAT(Refusal("b = b'x' * (30 << 20)"), HasSubstr("at most 20 MiB can be copied"));
  EXPECT_THAT(Refusal("open('/tmp/x', 'wb').write(b'x' * (30 << 20))"),
              HasSubstr("at most 20 MiB"));
}

TEST_P(BranchTest, AStateOutlivesItsSource) {
  std::optional<Guest> source = After("x = 'kept'");
  const SavedCell saved = Save(*source);
  Guest holder = After("1");  // Keeps the fork server alive.
  source.reset();
  Guest branch = Restore(saved);
  EXPECT_EQ(Run(branch, "x"), "\"kept\"");
}

TEST_P(BranchTest, AForkServerThatIsReplacedStillBranches) {
  NativeEngineOptions options = NativeOptions();
  options.rotate_after_cells = 6;
  Start(options);
  Guest source = After("x = 'old'");
  for (int i = 0; i < 30; ++i) EXPECT_EQ(ResultJson(RunCode(*engine_, "1")), "1");
  Guest branch = Branch(source);
  EXPECT_EQ(Run(branch, "x"), "\"old\"");
}

TEST_P(BranchTest, OnlyItsOwnerGetsIt) {
  Guest source = After("x = 'ann'");
  const SavedCell saved = Save(source);
  const auto bob = Guest::Restore(*engine_, saved, Allowed(), "bob");
  ASSERT_FALSE(bob);
  EXPECT_EQ(bob.error().code(), ErrorCode::kFailedPrecondition);
  // Nor in another engine: the numbers of fork servers are unique in this process.
  auto other = StartNative();
  const auto elsewhere = Guest::Restore(*other, saved, Allowed());
  ASSERT_FALSE(elsewhere);
  EXPECT_THAT(elsewhere.error().message(), HasSubstr("is gone"));
}

TEST_P(BranchTest, ADamagedImageEndsItsOwnCellAlone) {
  Guest source = After("x = 'fine'\nopen('/tmp/a', 'w').write('a' * 100)");
  const SavedCell saved = Save(source);
  std::mt19937 random(20);
  int refused = 0;
  for (int i = 0; i < 60; ++i) {
    SavedCell damaged = saved;
    switch (i % 3) {
      case 0:
        damaged.bytes.resize(random() % damaged.bytes.size());
        break;
      case 1:
        for (int flips = 0; flips < 8; ++flips) {
          damaged.bytes[random() % damaged.bytes.size()] ^= static_cast<char>(1 << random() % 8);
        }
        break;
      default:
        for (char& byte : damaged.bytes) byte = static_cast<char>(random());
    }
    auto copy = Guest::Restore(*engine_, damaged, Allowed({.wall_time = 300ms, .cpu_time = 300ms}));
    if (!copy) {
      ++refused;
      EXPECT_NE(copy.error().message(), "");
    }
  }
  EXPECT_GE(refused, 30);
  EXPECT_EQ(engine_->stats().workers_lost, 0u);
  EXPECT_EQ(Run(source, "x"), "\"fine\"");
  Guest branch = Restore(saved);
  EXPECT_EQ(Run(branch, "x"), "\"fine\"");
}

TEST_P(BranchTest, LeavesNothingBehind) {
  {
    Guest first = After("1");
  }
  const Census before = AwaitRest();
  {
    Guest source = After("x = 1\nopen('/tmp/x', 'w').write('x')");
    for (int i = 0; i < 5; ++i) {
      Guest branch = Branch(source);
      EXPECT_EQ(Run(branch, "x"), "1");
    }
  }
  EXPECT_EQ(AwaitRest(), before);
}

TEST_P(BranchTest, GoesOnBesideMounts) {
  workspace::TestDirectory host;
  host.Put("a.txt", "alpha");
  boost::asio::thread_pool pool{1};
  const auto files = [&](MountMode mode) -> std::shared_ptr<HostFiles> {
    jail::SkipIfOwnersCannotBeMapped();
    auto opened = workspace::Workspace::Open(
        {{.host = host.path().string(), .point = {.guest_path = "/input/data", .mode = mode}}},
        {.pool = pool.get_executor()});
    EXPECT_TRUE(opened) << opened.error().message();
    return *opened;
  };
  for (const MountMode mode : {MountMode::kReadOnly, MountMode::kOverlay}) {
    Guest source = Guest::Open(*engine_, "ann", files(mode));
    ASSERT_EQ(Run(source, "f = open('/input/data/a.txt'); f.read(2)"), "\"al\"");
    auto branch = Guest::Restore(*engine_, Save(source), Allowed(), "ann", files(mode));
    ASSERT_TRUE(branch) << branch.error().message();
    EXPECT_EQ(Run(*branch, "f.read()"), "\"pha\"");
    if (mode == MountMode::kReadOnly) continue;
    EXPECT_EQ(Run(*branch, "open('/input/data/new', 'w').write('x')"), "1");
    const auto saved = branch->TrySave(AfterSave::kKeep);
    ASSERT_FALSE(saved);
    EXPECT_THAT(saved.error().message(), HasSubstr("below a mount"));
    EXPECT_EQ(Run(source, "import os\nos.listdir('/input/data')"), R"(["a.txt"])");
  }
}

TEST_P(BranchTest, GoesOnBesideWhatTheForkServerHasImported) {
  NativeEngineOptions options = NativeOptions();
  options.kinds = {{.preload = {"decimal", "sqlite3", "json", "asyncio"}}};
  options.spare_cells = 2;  // A branch takes a warm one.
  Start(options);
  Guest source =
      After("import decimal\nx = decimal.Decimal('0.1')\nopen('/tmp/x', 'w').write('x')");
  Guest branch = Branch(source);
  EXPECT_EQ(Run(branch, "str(x + 1) + open('/tmp/x').read()"), "\"1.1x\"");
}

TEST(BranchOfForeignTest, IsRefusedWithTheReason) {
  auto engine = StartNative(ForeignOptions());
  Guest guest = Guest::Open(*engine);
  guest.Start({.code = "x = 1"}, AfterRun::kKeep);
  ASSERT_EQ(guest.End().status, RunStatus::kCompleted);
  const auto saved = guest.TrySave(AfterSave::kKeep);
  ASSERT_FALSE(saved);
  EXPECT_THAT(saved.error().message(), HasSubstr("another Python"));
  guest.Start({.code = "x"}, AfterRun::kKeep);
  EXPECT_EQ(ResultJson(guest.End()), "1");
}

}  // namespace
}  // namespace caisson::testing
