// Drives a real fork server over its control socket: as root and as an ordinary user (main, at the
// end).
#include <fcntl.h>
#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>

#include "base/sanitized.h"
#include "engine/native/forkserver/testing/fork_server_fixture.h"

namespace caisson::forkserver {
namespace {

INSTANTIATE_TEST_SUITE_P(Tiers, ForkServerTest,
                         testing::Values(kNamespace, kInSlot, kLandlock, kForeign,
                                         kForeignLandlock),
                         NameOf);

// Tests that need namespaces.
class CellTest : public ForkServerTest {};
INSTANTIATE_TEST_SUITE_P(Tiers, CellTest, testing::Values(kNamespace, kInSlot, kForeign), NameOf);

// Tests of the differences without namespaces.
class LandlockTest : public ForkServerTest {};
INSTANTIATE_TEST_SUITE_P(Tiers, LandlockTest, testing::Values(kLandlock, kForeignLandlock), NameOf);

// Tests that need the embedded interpreter.
class EmbeddedTest : public ForkServerTest {};
INSTANTIATE_TEST_SUITE_P(Tiers, EmbeddedTest, testing::Values(kNamespace, kInSlot, kLandlock),
                         NameOf);

TEST_P(ForkServerTest, RunsCodeAndStreamsItsOutput) {
  DrivenCell cell = fork_server().Make();
  ASSERT_TRUE(cell.prepared) << cell.failed;
  const RunEnd end = cell.Run("import sys\nprint('out')\nprint('err', file=sys.stderr)\n1+1");
  EXPECT_EQ(end.Result(), "2");
  EXPECT_EQ(end.done.ending, wire::Ending::kReported);
  EXPECT_EQ(end.done.flags, 0U);
  EXPECT_EQ(cell.Output(), "out\n");
  EXPECT_EQ(cell.ErrorOutput(), "err\n");
  fork_server().AwaitGone(cell);
  ASSERT_TRUE(cell.gone);
  EXPECT_EQ(cell.gone->signal, 0);
  EXPECT_EQ(cell.gone->status, 0);
  EXPECT_GT(cell.gone->cpu_ns, 0U);
  EXPECT_GT(cell.gone->peak_memory_bytes, 1U << 20);
}

TEST_P(ForkServerTest, ErrorsNameTheCodesOwnLines) {
  DrivenCell cell = fork_server().Make();
  const RunEnd end = cell.Run("import json\n\njson.loads('{')");
  EXPECT_EQ(end.ErrorText("type"), "json.decoder.JSONDecodeError");
  EXPECT_THAT(end.ErrorText("traceback"), HasSubstr("line 3, in <module>"));
  EXPECT_THAT(end.ErrorText("traceback"), testing::Not(HasSubstr("decoder.py")));
}

TEST_P(ForkServerTest, CallsTools) {
  EXPECT_EQ(Run("echo(20) + echo(22)", {.tools = {"echo"}}), "42");
  EXPECT_EQ(Run("import asyncio\nsum(await asyncio.gather(*[echo(i) for i in range(50)]))",
                {.tools = {"echo"}}),
            "1225");
  EXPECT_EQ(Run("len(echo(b'x' * 3_000_000))", {.tools = {"echo"}}), "3000000");
}

TEST_P(ForkServerTest, ToolCallsAreCounted) {
  DrivenCell cell = fork_server().Make();
  const RunEnd end = cell.Run("while True: echo(1)", {.tools = {"echo"}, .tool_calls = 5}, Echo);
  EXPECT_EQ(end.done.ending, wire::Ending::kToolCalls);
  EXPECT_EQ(end.done.calls, 5U);
}

TEST_P(CellTest, ThreadsCallToolsSideBySide) {
  EXPECT_EQ(Run(R"(
import threading
got = []
def work(n):
    for i in range(20):
        got.append(echo(n * 100 + i) - i == n * 100)
threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
for t in threads: t.start()
for t in threads: t.join()
[len(got), all(got)])",
                {.tools = {"echo"}}),
            "[160,true]");
}

TEST_P(CellTest, OneThreadsWaitDoesNotHoldOthersUp) {
  // The first call is answered only after the second thread has made its own.
  DrivenCell cell = fork_server().Make();
  cell.SendStart(R"(
import threading
other = threading.Thread(target=lambda: echo('second'))
def first(): echo('first')
waiting = threading.Thread(target=first)
waiting.start()
other.start()
waiting.join(); other.join()
'both')",
                 {.tools = {"echo"}});
  ASSERT_TRUE(cell.Receive());
  auto second = cell.Receive();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->kind, wire::ToHost::kCall);
  cell.SendAnswer(1, Value());
  cell.SendAnswer(0, Value());
  auto done = cell.Receive();
  ASSERT_TRUE(done);
  EXPECT_EQ(done->kind, wire::ToHost::kDone);
}

TEST_P(CellTest, TheEventLoopIsWokenByOtherThreads) {
  EXPECT_EQ(
      Run("import asyncio\nawait asyncio.get_running_loop().run_in_executor(None, lambda: 7)"),
      "7");
  EXPECT_EQ(Run(R"(
import asyncio, threading
async def ask(n): return await echo(n)
def own_loop(n): results.append(asyncio.run(ask(n)))
results = []
threads = [threading.Thread(target=own_loop, args=(n,)) for n in range(6)]
for t in threads: t.start()
results.append(await ask(100))
for t in threads: t.join()
sorted(results))",
                {.tools = {"echo"}}),
            "[0,1,2,3,4,5,100]");
}

TEST_P(ForkServerTest, WaitingForNothingIsAnError) {
  EXPECT_THAT(Run("import asyncio\nawait asyncio.Event().wait()"),
              StartsWith("RuntimeError: deadlock"));
}

TEST_P(CellTest, AThreadThatHasJustEndedMayHaveWokenTheLoop) {
  EXPECT_EQ(Run(R"(
import asyncio, threading
loop = asyncio.get_running_loop()
woken = loop.create_future()
def last_thread_ends():
    if not woken.done(): loop.call_soon_threadsafe(woken.set_result, 7)
    return 1
threading.active_count = last_thread_ends
await woken)"),
            "7");
}

TEST_P(ForkServerTest, TimePasses) {
  EXPECT_EQ(Run("import time\na = time.monotonic()\ntime.sleep(0.02)\n"
                "0.02 <= time.monotonic() - a < 5"),
            "true");
}

TEST_P(ForkServerTest, SessionsKeepTheirState) {
  DrivenCell cell = fork_server().Make();
  const RunEnd first = cell.Run("x = 41\ndef f(): return x + 1", {.flags = wire::kKeepCell});
  EXPECT_EQ(first.done.flags & wire::kCellKept, wire::kCellKept);
  EXPECT_EQ(cell.Run("f()", {.flags = wire::kKeepCell, .again = true}).Result(), "42");
  EXPECT_EQ(cell.Run("x", {.again = true}).Result(), "41");
  fork_server().AwaitGone(cell);
  EXPECT_TRUE(cell.gone);
}

TEST_P(CellTest, AThreadThatARunLeavesBehindDisturbsNoOther) {
  DrivenCell cell = fork_server().Make();
  cell.SendStart("import threading\nthreading.Thread(target=lambda: print(echo(0))).start()\n1",
                 {.tools = {"echo"}, .flags = wire::kKeepCell});
  std::set<wire::ToHost> kinds;
  for (int i = 0; i < 2; ++i) {
    auto message = cell.Receive();
    ASSERT_TRUE(message);
    kinds.insert(message->kind);
  }
  EXPECT_EQ(kinds, (std::set{wire::ToHost::kCall, wire::ToHost::kDone}));
  const RunEnd second =
      cell.Run("[echo(i) for i in range(5)]",
               {.tools = {"echo"}, .flags = wire::kKeepCell, .again = true}, Echo);
  EXPECT_EQ(second.Result(), "[0,1,2,3,4]");
  EXPECT_EQ(cell.Output(), "");
}

TEST_P(CellTest, ThreadsAreJoinedWhenTheCodeEndsUnlessTheCellGoesOn) {
  const std::string code =
      "import threading, time\n"
      "def late():\n  time.sleep(0.05)\n  print('late')\n"
      "threading.Thread(target=late).start()\n"
      "threading.Thread(target=time.sleep, args=[1000], daemon=True).start()\n5";
  DrivenCell cell = fork_server().Make();
  EXPECT_EQ(cell.Run(code).Result(), "5");
  EXPECT_EQ(cell.Output(), "late\n");
  cell = fork_server().Make();
  EXPECT_EQ(cell.Run(code, {.flags = wire::kKeepCell}).Result(), "5");
  EXPECT_EQ(cell.Output(), "");
}

TEST_P(CellTest, FilesThatAreLeftOpenAreWrittenOut) {
  DrivenCell cell = fork_server().Make();
  const RunEnd end = cell.Run(
      "import atexit, gzip\n"
      "text = open('/tmp/text', 'w'); text.write('text')\n"
      "zipped = gzip.open('/tmp/gz', 'wt'); zipped.write('zipped')\n"
      "class Witness:\n"
      "  def __del__(self): print(open('/tmp/text').read(), gzip.open('/tmp/gz', 'rt').read())\n"
      "witness = Witness()\n"
      "atexit.register(print, 'handler')\n");
  EXPECT_EQ(end.Text("end"), "returned");
  EXPECT_EQ(cell.Output(), "handler\ntext zipped\n");
  cell = fork_server().Make();
  cell.Run("f = open('/tmp/text', 'w'); n = f.write('kept')", {.flags = wire::kKeepCell});
  EXPECT_EQ(cell.Run("open('/tmp/text').read() + str(f.write('on'))", {.again = true}).Result(),
            "\"kept2\"");
}

TEST_P(CellTest, ArchivesBehindClassesAndFunctionsAreWhole) {
  DrivenCell cell = fork_server().Make();
  const RunEnd end = cell.Run(
      "import io, zipfile\n"
      "def make(path):\n"
      "  z = zipfile.ZipFile(path, 'w')\n"
      "  def add(name, text): z.writestr(name, text)\n"
      "  return add\n"
      "add = make('/tmp/function')\n"
      "add('a', 'b')\n"
      "class Holder: z = zipfile.ZipFile('/tmp/class', 'w')\n"
      "Holder.z.writestr('a', 'b')\n"
      "class File(io.FileIO): pass\n"
      "io.kept = io.BufferedWriter(File('/tmp/file', 'w'))\n"
      "io.kept.write(b'text')\n"
      "class Witness:\n"
      "  def __call__(self): pass\n"
      "  def __del__(self):\n"
      "    print(*[zipfile.ZipFile(f'/tmp/{name}').namelist() for name in ('function', 'class')])\n"
      "    print(open('/tmp/file').read())\n"
      "def last(witness=Witness()): pass\n");
  EXPECT_EQ(end.Text("end"), "returned");
  EXPECT_EQ(cell.Output(), "['a'] ['a']\ntext\n");
}

TEST_P(CellTest, AnAbortIsToldAsOne) {
  DrivenCell cell = fork_server().Make();
  const RunEnd end = cell.Run("print('first')\nimport os\nos.abort()");
  EXPECT_EQ(end.done.ending, wire::Ending::kTrap);
  EXPECT_EQ(end.done.detail, static_cast<std::uint32_t>(wire::Trap::kUnreachable));
  EXPECT_EQ(cell.Output(), "first\n");
}

TEST_P(ForkServerTest, CodeInAnotherEncodingIsRejected) {
  for (const char* code : {"# coding: utf-16\n1", "\r\n# -*- coding: latin_1 -*-\r\n1"}) {
    DrivenCell cell = fork_server().Make();
    EXPECT_EQ(cell.Run(code).Text("end"), "rejected") << code;
  }
  EXPECT_EQ(Run("# -*- coding: UTF_8 -*-\n1"), "1");
  EXPECT_EQ(Run("x = 1\n# coding: nope\nx"), "1");
}

TEST_P(ForkServerTest, ACoroutineThatNobodyAwaitsIsWarnedOfAtALineOfTheCode) {
  DrivenCell cell = fork_server().Make();
  cell.Run("import asyncio\nasync def a(): pass\nt = asyncio.create_task(a())");
  EXPECT_THAT(cell.ErrorOutput(), StartsWith("main.py:2: RuntimeWarning: coroutine 'a' was never"));
}

TEST_P(ForkServerTest, VirtualTimeIsRefused) {
  EXPECT_THAT(Run("1", {.flags = wire::kRecorded}), StartsWith("refused: engine native"));
}

TEST_P(ForkServerTest, CellsDrawDifferentNumbers) {
  std::set<std::string> drawn;
  for (int i = 0; i < 5; ++i) {
    drawn.insert(
        Run("import random, uuid, tempfile\n"
            "[random.random(), str(uuid.uuid4()), random.SystemRandom().random()]"));
  }
  EXPECT_EQ(drawn.size(), 5U);
}

TEST_P(ForkServerTest, MemoryIsLimitedAndTheLimitSaysSo) {
  const RunOptions small{.memory_bytes = 64 << 20};
  DrivenCell cell = fork_server().Make();
  const RunEnd refused = cell.Run("x = bytearray(200 << 20)", small);
  EXPECT_EQ(refused.ErrorText("type"), "MemoryError");
  EXPECT_EQ(refused.done.flags & wire::kMemoryRefused, wire::kMemoryRefused);

  cell = fork_server().Make();
  const RunEnd slowly = cell.Run("x = []\nwhile True: x.append('y' * 1000)", small);
  EXPECT_EQ(slowly.ErrorText("type"), "MemoryError");
  EXPECT_EQ(slowly.done.flags & wire::kMemoryRefused, wire::kMemoryRefused);

  cell = fork_server().Make();
  const RunEnd raised = cell.Run("raise MemoryError()", small);
  EXPECT_EQ(raised.done.flags & wire::kMemoryRefused, 0U);
  EXPECT_EQ(Run("len(bytearray(40 << 20))", small), "41943040");
}

TEST_P(ForkServerTest, AnswersThatDoNotFitMemoryEndTheRunAsTheLimit) {
  if (kIsSanitized) GTEST_SKIP() << "a sanitizer's operator new does not throw";
  DrivenCell cell = fork_server().Make();
  const RunEnd end = cell.Run(
      "x = bytearray(14 << 20)\ny = echo(1)", {.tools = {"echo"}, .memory_bytes = 20 << 20},
      [](const auto&, const auto&) { return Bytes{std::string(8 << 20, 'x')}; });
  EXPECT_EQ(end.ErrorText("type"), "MemoryError");
  EXPECT_EQ(end.done.flags & wire::kMemoryRefused, wire::kMemoryRefused);
}

TEST_P(ForkServerTest, OpenFilesAreLimited) {
  EXPECT_THAT(Run("files = [open('/dev/null') for _ in range(100)]", {.open_files = 32}),
              HasSubstr("Too many open files"));
}

TEST_P(CellTest, InputFilesAreThereAndReadOnly) {
  const RunOptions options{.files = {{"/input/a.txt", "hello"}, {"/input/deep/er/b", "x"}}};
  EXPECT_EQ(Run("open('/input/a.txt').read() + open('/input/deep/er/b').read()", options),
            "\"hellox\"");
  EXPECT_THAT(Run("open('/input/a.txt', 'w')", options), StartsWith("PermissionError"));
}

TEST_P(CellTest, FilesAreCapturedAfterTheCellIsDead) {
  DrivenCell cell = fork_server().Make();
  ASSERT_TRUE(cell.files.is_open());
  EXPECT_EQ(cell.Run("import os\nopen('a.txt', 'w').write('made')\n"
                     "open('/tmp/scratch', 'w').write('t')\nos.getcwd()")
                .Result(),
            "\"/output\"");
  fork_server().AwaitGone(cell);
  ASSERT_TRUE(cell.gone);
  EXPECT_EQ(ReadBelow(cell.files, "output/a.txt"), "made");
  EXPECT_EQ(ReadBelow(cell.files, "tmp/scratch"), "t");
}

TEST_P(CellTest, OneCellsFilesAreNotAnothers) {
  DrivenCell one = fork_server().Make();
  DrivenCell other = fork_server().Make();
  one.Run("open('/tmp/mine', 'w').write('secret')", {.flags = wire::kKeepCell});
  EXPECT_THAT(other.Run("open('/tmp/mine')").Result(), StartsWith("FileNotFoundError"));
}

TEST_P(CellTest, PrivateFilesAreBounded) {
  EXPECT_THAT(Run("for i in range(9): open(f'/tmp/{i}', 'wb').write(bytes(10 << 20))"),
              HasSubstr("No space left"));
  EXPECT_THAT(Run("for i in range(9000): open(f'/tmp/{i}', 'w')"), HasSubstr("No space left"));
  EXPECT_THAT(Run("open('/tmp/x', 'wb').write(bytes(40 << 20))"), HasSubstr("File too large"));
}

TEST_P(ForkServerTest, PackagesOfTheSystemCanBeImported) {
  if (!fs::exists("/usr/lib/python3/dist-packages/numpy")) GTEST_SKIP() << "no numpy here";
  EXPECT_EQ(Run("import numpy as np\nfloat(np.arange(10).mean())"), "4.5");
  EXPECT_EQ(Run("import numpy as np\nfloat(np.linalg.inv(np.eye(3) * 2)[0, 0])"), "0.5");
}

// Computes a product, and then counts the available megabytes: OpenBLAS's buffer of 128 is not part
// of the run's 256, and a run does not gain more than that with another BLAS.
constexpr const char* kMultiplyAndFill =
    "import numpy as np\na = np.ones((300, 300))\nproduct = float((a @ a)[0, 0])\nkept = []\n"
    "try:\n    while True: kept.append(np.ones(1 << 17))\nexcept MemoryError: pass\n"
    "count = len(kept)\nkept.clear()\n[product, 128 < count < 256 + 128]";

TEST_P(ForkServerTest, MatrixProductsHaveRoomBesideTheRunsMemory) {
  if (!fs::exists("/usr/lib/python3/dist-packages/numpy")) GTEST_SKIP() << "no numpy here";
  EXPECT_EQ(Run(kMultiplyAndFill), "[300.0,true]");
}

TEST_P(EmbeddedTest, PreloadedPackagesAreReadyAndReseeded) {
  if (!fs::exists("/usr/lib/python3/dist-packages/numpy")) GTEST_SKIP() << "no numpy here";
  auto numpy = StartForkServer(GetParam().tier, {"--preload=numpy"});
  ASSERT_TRUE(numpy);
  std::set<std::string> drawn;
  for (int i = 0; i < 3; ++i) {
    DrivenCell cell = numpy->Make();
    ASSERT_TRUE(cell.prepared) << cell.failed;
    const RunEnd end = cell.Run(
        "import sys\nready = 'numpy' in sys.modules\nimport numpy as np\n[ready, "
        "np.random.rand()]");
    EXPECT_THAT(end.Result(), StartsWith("[true,"));
    drawn.insert(end.Result());
  }
  EXPECT_EQ(drawn.size(), 3U);
  EXPECT_EQ(numpy->Make().Run(kMultiplyAndFill).Result(), "[300.0,true]");
  DrivenCell cell = numpy->Make();
  const RunEnd end = cell.Run("import numpy as np\nnp.ones(10**9)");
  EXPECT_THAT(end.ErrorText("type"), testing::EndsWith("MemoryError"));
  EXPECT_NE(end.report.Find("memory"), nullptr) << "numpy allocates by itself";
}

// See page_tables.h. Without it they map everything that the fork server holds, 12 MB.
TEST_P(EmbeddedTest, WaitingCellsMapWhatRunsUse) {
  if (kIsSanitized) GTEST_SKIP() << "a sanitizer's memory is mapped too";
  utsname kernel{};
  int major = 0;
  int minor = 0;
  ASSERT_EQ(::uname(&kernel), 0);
  ASSERT_EQ(std::sscanf(kernel.release, "%d.%d", &major, &minor), 2);
  if (std::pair(major, minor) < std::pair(6, 7)) GTEST_SKIP() << "an older userfaultfd";
  constexpr int kUserModeOnly = 1;
  const UniqueFd faults(static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | kUserModeOnly)));
  if (!faults.is_open()) GTEST_SKIP() << "userfaultfd is refused here";
  DrivenCell cell = fork_server().Make();
  ASSERT_TRUE(cell.prepared) << cell.failed;
  std::ifstream statm("/proc/" + std::to_string(cell.HostPid()) + "/statm");
  std::size_t all_pages = 0;
  std::size_t mapped_pages = 0;
  statm >> all_pages >> mapped_pages;
  EXPECT_GT(mapped_pages, 100U);
  EXPECT_LT(mapped_pages * 4096, 7U << 20);
}

TEST_P(EmbeddedTest, NoCellSeesChangesToTheMemoryOfAnother) {
  DrivenCell waiting = fork_server().Make();
  // The result does not matter.
  static_cast<void>(
      Run("import ctypes, json\njson.mark = 1\nctypes.memset(id(json.loads) & ~4095, 0, 4096)"));
  EXPECT_EQ(waiting.Run("import json\n[hasattr(json, 'mark'), json.loads('1')]").Result(),
            "[false,1]");
  EXPECT_EQ(Run("import json\n[hasattr(json, 'mark'), json.loads('1')]"), "[false,1]");
}

TEST_P(CellTest, PlotsAreFiles) {
  if (!fs::exists("/usr/share/matplotlib")) GTEST_SKIP() << "no matplotlib here";
  DrivenCell cell = fork_server().Make();
  const RunEnd end = cell.Run(
      "import matplotlib.pyplot as plt\nplt.plot([1, 2, 3])\nplt.title('t')\n"
      "plt.savefig('/output/p.png')",
      {.memory_bytes = 1 << 30});
  EXPECT_EQ(end.ErrorText("traceback"), "-");
  fork_server().AwaitGone(cell);
  EXPECT_THAT(ReadBelow(cell.files, "output/p.png"), StartsWith("\x89PNG"));
}

TEST_P(ForkServerTest, RequestsThatTheKernelRefusesRaise) {
  EXPECT_THAT(Run("import socket\nsocket.socket()"), StartsWith("PermissionError"));
  EXPECT_THAT(Run("import socket\nsocket.create_connection(('127.0.0.1', 80))"),
              StartsWith("PermissionError"));
  EXPECT_THAT(Run("import os\nos.execv('/bin/sh', ['sh'])"), StartsWith("PermissionError"));
  EXPECT_THAT(Run("import os\nos.fork()"), StartsWith("BlockingIOError"));
  EXPECT_THAT(Run("import subprocess\nsubprocess.run(['true'])"), HasSubstr("Error"));
  EXPECT_THAT(Run("open('/etc/shadow')"), HasSubstr("Error"));
  EXPECT_THAT(Run("open('/usr/lib/python3.11/os.py', 'a')"), HasSubstr("Error"));
  EXPECT_THAT(Run("import os\nos.listdir('/proc')"), HasSubstr("Error"));
  EXPECT_THAT(Run("import os\nos.setuid(0)"), StartsWith("PermissionError"));
  EXPECT_THAT(Run("import os\nos.chmod('/usr/lib/python3.11/os.py', 0o777)"), HasSubstr("Error"));
  EXPECT_THAT(Run("import resource as r\nr.setrlimit(r.RLIMIT_AS, (-1, -1))"), HasSubstr("Error"));
}

constexpr const char* kRawSyscall =
    "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
    "def call(*a):\n    r = libc.syscall(*a)\n    return r if r >= 0 else -ctypes.get_errno()\n";

TEST_P(ForkServerTest, CallsOfAttackersKill) {
  // By number, for x86-64: ptrace, unshare, setns, mount, pivot_root, bpf, perf_event_open,
  // io_uring_setup, userfaultfd, keyctl, add_key, request_key, process_vm_readv, open_by_handle_at,
  // name_to_handle_at, personality, modify_ldt, memfd_secret, kexec_load, init_module,
  // finit_module, landlock_restrict_self, seccomp, pidfd_getfd, fsopen, open_tree, move_mount,
  // mount_setattr, kcmp, process_madvise, iopl, clone with CLONE_NEWUSER, x32 getpid.
  for (const char* call :
       {"101, 0",       "272, 0x10000000", "308, 0, 0",    "165, 0, 0, 0, 0, 0",
        "155, 0, 0",    "321, 0",          "298, 0",       "425, 1, 0",
        "323, 0",       "250, 0",          "248, 0",       "249, 0",
        "310, 1",       "304, 0",          "303, 0",       "135, 0xffffffff",
        "154, 0",       "447, 0",          "246, 0",       "175, 0",
        "313, 0",       "446, 0, 0",       "317, 1, 0, 0", "438, 0",
        "430, 0",       "428, 0",          "429, 0",       "442, 0",
        "312, 0",       "440, 0",          "172, 3",       "56, 0x10000011, 0, 0, 0, 0",
        "0x40000027, 0"}) {
    const wire::CellGone gone = RunToDeath(std::string(kRawSyscall) + "call(" + call + ")");
    EXPECT_EQ(gone.signal, SIGSYS) << call;
  }
}

TEST_P(ForkServerTest, NoMemoryBecomesCode) {
  const std::string prefix = std::string(kRawSyscall);
  // mmap anonymous r-x and rwx; mprotect to r-x; memfd_create.
  EXPECT_EQ(Run(prefix + "call(9, 0, 4096, 5, 0x22, -1, 0)"), "-13");
  EXPECT_EQ(Run(prefix + "call(9, 0, 4096, 7, 0x22, -1, 0)"), "-13");
  EXPECT_EQ(Run(prefix + "import mmap\nm = mmap.mmap(-1, 4096)\n"
                         "a = ctypes.addressof(ctypes.c_char.from_buffer(m))\n"
                         "call(10, ctypes.c_void_p(a), 4096, 5)"),
            "-13");
  EXPECT_EQ(Run(prefix + "call(319, b'x', 0)"), "-13");
  if (has_namespaces()) {
    EXPECT_EQ(Run(prefix + "f = open('/tmp/x', 'wb+')\nf.write(bytes(4096))\nf.flush()\n"
                           "call(9, 0, 4096, 5, 2, f.fileno(), 0)"),
              "-1");
  }
}

TEST_P(ForkServerTest, NothingOfTheHostCanBeSignalled) {
  const pid_t self = ::getpid();
  EXPECT_THAT(Run("import os\nos.kill(" + std::to_string(self) + ", 0)"), HasSubstr("Error"));
  // As pid 1 of its own namespace it has no other process to signal; in other tiers it may not.
  EXPECT_THAT(Run("import os\nos.kill(-1, 9)"), HasSubstr("Error"));
}

TEST_P(CellTest, ThreadsAreBounded) {
  EXPECT_EQ(Run(R"(
import threading
stop = threading.Event()
started = 0
try:
    while started < 1000:
        threading.Thread(target=stop.wait).start()
        started += 1
except RuntimeError as e:
    error = str(e)
stop.set()
[started, error])"),
            "[15,\"can't start new thread\"]");
}

TEST_P(LandlockTest, ThereAreNoThreadsSinceTheyCouldNotBeCounted) {
  EXPECT_EQ(Run("import threading\nthreading.Thread(target=print).start()"),
            "RuntimeError: can't start new thread");
}

TEST_P(CellTest, ForksAreAllowedWhereTheLimitSaysSoAndCounted) {
  DrivenCell cell = fork_server().Make(3);
  ASSERT_TRUE(cell.prepared) << cell.failed;
  const RunEnd end = cell.Run(R"(
import os, time
children = []
try:
    while len(children) < 100:
        pid = os.fork()
        if pid == 0:
            time.sleep(1000)
        children.append(pid)
except BlockingIOError:
    pass
len(children))");
  EXPECT_EQ(end.Result(), "2");
  fork_server().AwaitGone(cell);  // Including its children, although they sleep.
  ASSERT_TRUE(cell.gone);
}

TEST_P(CellTest, AForkedProcessIsNotTheRun) {
  DrivenCell cell = fork_server().Make(2);
  const RunEnd end = cell.Run(
      "import os\npid = os.fork()\nif pid == 0:\n"
      "    try: echo('child')\n    except ToolError as e: print(e.type)\n"
      "else:\n    os.waitpid(pid, 0)\n    print('parent', echo(5))\npid != 0",
      {.tools = {"echo"}}, Echo);
  EXPECT_EQ(end.Result(), "true");
  EXPECT_EQ(end.done.calls, 1U);
  EXPECT_EQ(cell.Output(), "CallRefused\nparent 5\n");
}

TEST_P(ForkServerTest, MoreProcessesThanCanBeCountedAreRefused) {
  if (!has_namespaces()) {
    DrivenCell several = fork_server().Make(2);
    EXPECT_FALSE(several.prepared);
    EXPECT_THAT(several.failed, HasSubstr("needs tier namespace"));
  }
  DrivenCell none = fork_server().Make(0);
  EXPECT_FALSE(none.failed.empty());
  EXPECT_EQ(Run("1"), "1");
}

// Checked from outside, while the cell waits for its run.
TEST_P(ForkServerTest, AWaitingCellHoldsNothing) {
  DrivenCell cell = fork_server().Make();
  ASSERT_TRUE(cell.prepared) << cell.failed;
  cell.SendStart("echo(1)", {.tools = {"echo"}});
  ASSERT_TRUE(cell.Receive());  // All its walls stand now.
  const pid_t pid = cell.HostPid();
  ASSERT_GT(pid, 0);
  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapAmb"}) {
    EXPECT_EQ(Status(pid, set), "0000000000000000") << set;
  }
  EXPECT_EQ(Status(pid, "NoNewPrivs"), "1");
  EXPECT_EQ(Status(pid, "Seccomp"), "2");
  EXPECT_EQ(Status(pid, "Threads"), "1");
  if (::getuid() == 0) {
    EXPECT_NE(Status(pid, "Uid").substr(0, 2), "0\t");
    EXPECT_EQ(CountEntries(ProcPath(pid, "fd")), 4U);
  }
  if (!has_namespaces()) return;
  EXPECT_THAT(Status(pid, "NSpid"), testing::EndsWith("\t1"));
  if (::getuid() != 0) return;
  const pid_t parent = fork_server().child().pid();
  for (const char* name : {"user", "mnt", "pid"}) {
    EXPECT_NE(fs::read_symlink(ProcPath(pid, std::string("ns/") + name)),
              fs::read_symlink(ProcPath(parent, std::string("ns/") + name)))
        << name;
  }
  EXPECT_NE(fs::read_symlink(ProcPath(pid, "ns/net")), fs::read_symlink("/proc/self/ns/net"));
  std::ifstream mounts(ProcPath(pid, "mountinfo"));
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream fields(line);
    std::string skipped, point, options;
    fields >> skipped >> skipped >> skipped >> skipped >> point >> options;
    const std::set<std::string> writable{"/files", "/tmp", "/output", "/input"};
    EXPECT_THAT(options, StartsWith(writable.contains(point) ? "rw," : "ro,")) << line;
    EXPECT_THAT(options, HasSubstr("nosuid")) << line;
    if (writable.contains(point)) EXPECT_THAT(options, HasSubstr("nodev,noexec")) << line;
    EXPECT_NE(point, "/proc");
  }
}

TEST_P(ForkServerTest, TheForkServerKeepsNoPrivilege) {
  const pid_t pid = fork_server().child().pid();
  EXPECT_EQ(Status(pid, "CapEff"), "0000000000000000");
  EXPECT_EQ(Status(pid, "CapPrm"), "0000000000000000");
  EXPECT_EQ(Status(pid, "NoNewPrivs"), "1");
  EXPECT_EQ(Status(pid, "Seccomp"), "2");
  if (has_namespaces()) EXPECT_EQ(Status(pid, "CapBnd"), "0000000000000000");
  EXPECT_EQ(fork_server().missing(), "");
}

TEST_P(ForkServerTest, CodeSeesAnEnvironmentOfOurMaking) {
  EXPECT_EQ(Run("import os\nsorted(os.environ)"),
            R"(["HOME","LANG","MKL_NUM_THREADS","MPLBACKEND","MPLCONFIGDIR",)"
            R"("NUMEXPR_NUM_THREADS","OMP_NUM_THREADS","OPENBLAS_NUM_THREADS"])");
  if (!has_namespaces()) return;
  EXPECT_EQ(Run("import os\nsorted(os.listdir('/'))"),
            is_foreign() ? R"(["dev","etc","files","input","lib","lib64","output","tmp","usr"])"
                         : R"(["dev","etc","files","input","lib","output","tmp","usr"])");
  EXPECT_EQ(Run("import os\nsorted(os.listdir('/dev'))"),
            R"(["full","null","random","urandom","zero"])");
  EXPECT_EQ(Run("import os, pwd\n[os.getpid(), os.getuid(), pwd.getpwuid(os.getuid()).pw_name]"),
            R"([1,65534,"user"])");
}

TEST_P(ForkServerTest, AKilledCellIsGoneAndOthersAreNot) {
  DrivenCell one = fork_server().Make();
  DrivenCell other = fork_server().Make();
  one.SendStart("while True: pass");
  one.Kill();
  fork_server().AwaitGone(one);
  ASSERT_TRUE(one.gone);
  EXPECT_EQ(one.gone->signal, SIGKILL);
  EXPECT_EQ(other.Run("1+1").Result(), "2");
}

TEST_P(ForkServerTest, CellsDieWithTheirForkServer) {
  DrivenCell cell = fork_server().Make();
  cell.SendStart("while True: pass");
  fork_server().child().Kill();
  EXPECT_TRUE(Ends(cell.pidfd));
}

TEST_P(ForkServerTest, TheForkServerEndsWithTheHost) {
  DrivenCell cell = fork_server().Make();
  cell.SendStart("while True: pass");
  fork_server().CloseControl();
  auto exit = fork_server().child().WaitFor(std::chrono::seconds(20));
  ASSERT_TRUE(exit && *exit);
  EXPECT_EQ((*exit)->status, 0);
  EXPECT_TRUE(Ends(cell.pidfd));
}

TEST_P(ForkServerTest, ACellEndsWhenItsSocketDoes) {
  DrivenCell cell = fork_server().Make();
  cell.socket = UniqueFd();
  fork_server().AwaitGone(cell);
  ASSERT_TRUE(cell.gone);
  EXPECT_EQ(cell.gone->signal, 0);
}

TEST_P(ForkServerTest, CrashesAreNews) {
  EXPECT_EQ(RunToDeath("import ctypes\nctypes.string_at(0)").signal, SIGSEGV);
  EXPECT_EQ(RunToDeath("import os\nos._exit(7)").status, 7);
}

TEST_P(ForkServerTest, ManyCellsLeaveNothing) {
  const pid_t pid = fork_server().child().pid();
  const std::string children = ProcPath(pid, "task/" + std::to_string(pid) + "/children");
  std::size_t before = 0;
  std::string slots;
  for (int i = 0; i < 300; ++i) {
    DrivenCell cell = fork_server().Make();
    ASSERT_TRUE(cell.prepared) << cell.failed;
    if (i % 3 == 0) {
      cell.Kill();
    } else if (i % 3 == 1) {
      cell.SendStart("while True: pass");
      cell.Kill();
    } else {
      EXPECT_EQ(cell.Run("1+1").Result(), "2");
    }
    fork_server().AwaitGone(cell);
    ASSERT_TRUE(cell.gone);
    if (i != 50) continue;
    if (has_namespaces() && !is_foreign()) AwaitSlot();
    before = CountEntries(ProcPath(pid, "fd"));
    slots = ReadText(children);
  }
  EXPECT_EQ(CountEntries(ProcPath(pid, "fd")), before);
  EXPECT_EQ(ReadText(children), slots);
  if (is_foreign() || !has_namespaces()) EXPECT_EQ(slots, "");
}

// A virtual environment as `python3 -m venv` makes it, with one package.
class Venv {
 public:
  Venv() {
    char path[] = "/var/tmp/caisson-venv-XXXXXX";
    path_ = ::mkdtemp(path);
    const fs::path package = path_ / "lib/python3.11/site-packages/greeting";
    fs::create_directories(package);
    fs::permissions(path_, fs::perms(0755));
    std::ofstream(package / "__init__.py") << "text = 'hello from the venv'\n";
    std::ofstream(package.parent_path() / "threaded.py")
        << "import threading\nthreading.Thread(target=threading.Event().wait, "
           "daemon=True).start()\n";
  }
  ~Venv() { fs::remove_all(path_); }
  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

TEST_P(EmbeddedTest, PackagesOfAVirtualEnvironmentComeFirst) {
  const Venv venv;
  auto fork_server = StartForkServer(GetParam().tier, {"--prefix=" + venv.path()});
  ASSERT_TRUE(fork_server);
  EXPECT_EQ(fork_server->Make().Run("import greeting\ngreeting.text").Result(),
            "\"hello from the venv\"");
  auto preloaded =
      StartForkServer(GetParam().tier, {"--prefix=" + venv.path(), "--preload=greeting"});
  ASSERT_TRUE(preloaded);
  EXPECT_EQ(preloaded->Make().Run("import sys\n'greeting' in sys.modules").Result(), "true");
}

TEST(ForkServerStart, OperatorsCanAddToWhatCellsSee) {
  const Venv venv;
  auto without = StartForkServer(Tier::kNamespace);
  auto with = StartForkServer(Tier::kNamespace, {"--see=" + venv.path()});
  ASSERT_TRUE(without && with);
  const std::string code = "import os\nos.listdir('" + venv.path() + "')";
  EXPECT_THAT(without->Make().Run(code).Result(), StartsWith("FileNotFoundError"));
  EXPECT_EQ(with->Make().Run(code).Result(), "[\"lib\"]");
}

TEST(ForkServerStart, TierNoneRunsToo) {
  auto fork_server = StartForkServer(Tier::kNone);
  ASSERT_TRUE(fork_server);
  EXPECT_EQ(fork_server->Make().Run("1+1").Result(), "2");
}

TEST(ForkServerStart, SaysWhyItCannot) {
  jail::SkipWithoutNamespaces();
  auto unknown = Driver::Start(Tier::kNamespace, {"--preload=no_such_module_anywhere"});
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message(), HasSubstr("No module named 'no_such_module_anywhere'"));
  auto prefix = Driver::Start(Tier::kNamespace, {"--prefix=/nonexistent"});
  ASSERT_FALSE(prefix);
  EXPECT_THAT(prefix.error().message(), HasSubstr("contains no Python"));
  const Venv venv;
  auto threaded =
      Driver::Start(Tier::kNamespace, {"--prefix=" + venv.path(), "--preload=threaded"});
  ASSERT_FALSE(threaded);
  EXPECT_THAT(threaded.error().message(), HasSubstr("a process with threads cannot be jailed"));
  auto hidden = Driver::Start(Tier::kNamespace, {"--see=/tmp/data"});
  ASSERT_FALSE(hidden);
  EXPECT_THAT(hidden.error().message(), HasSubstr("cells have a /tmp of their own"));
}

}  // namespace
}  // namespace caisson::forkserver

// Runs every test as an ordinary user and then, if the program is root, as root. A list of the
// tests is printed once: ctest registers each line of it.
int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (::getuid() == 0 && !GTEST_FLAG_GET(list_tests)) {
    const pid_t ordinary = ::fork();
    if (ordinary == 0) {
      using caisson::forkserver::kNobody;
      if (::setgroups(0, nullptr) != 0 || ::setresgid(kNobody, kNobody, kNobody) != 0 ||
          ::setresuid(kNobody, kNobody, kNobody) != 0) {
        return 2;
      }
      ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);  // As after a login; changing ids cleared the flag.
      return RUN_ALL_TESTS();
    }
    int status = 0;
    ::waitpid(ordinary, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return 1;
  }
  return RUN_ALL_TESTS();
}
