// Directories of the host in a cell: read on demand, changed in a layer of the cell, applied or
// not.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/thread_pool.hpp>
#include <filesystem>
#include <tuple>
#include <utility>

#include "jail/testing/namespaces.h"
#include "tests/integration/engines.h"
#include "tests/integration/guest.h"
#include "workspace/testing/test_directory.h"
#include "workspace/workspace.h"

namespace caisson::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using workspace::TestDirectory;
using workspace::Workspace;

class MountsTest : public OnEachEngine {
 protected:
  static void TearDownTestSuite() { engine_.reset(); }
  void SetUp() override {
    if (engine_ && kind_ == GetParam()) return;
    engine_.reset();
    engine_ = StartEngine(kind_ = GetParam());
  }
  void TearDown() override {
    if (engine_) EXPECT_EQ(engine_->stats().workers_lost, 0u);  // Without one, it was skipped.
  }

  MountsTest() {
    host_.Put("a.txt", "alpha\n");
    host_.Put("d/b.txt", "beta\n");
  }

  std::shared_ptr<HostFiles> Files(MountMode mode, std::uint64_t write_bytes_limit = 0,
                                   const std::string& at = "/data") {
    if (GetParam() != EngineKind::kWasm) jail::SkipIfOwnersCannotBeMapped();
    auto opened = Workspace::Open(
        {{.host = host_.path().string(),
          .point = {.guest_path = at, .mode = mode, .write_bytes_limit = write_bytes_limit}}},
        {.pool = pool_.get_executor()});
    EXPECT_TRUE(opened) << opened.error().message();
    return *opened;
  }
  Outcome Run(MountMode mode, std::string code, Limits limits = {}) {
    Guest guest = Guest::Open(*engine_, "ann", Files(mode));
    guest.Start({.code = std::move(code), .limits = limits});
    return guest.End();
  }

  static std::unique_ptr<Engine> engine_;
  static EngineKind kind_;
  TestDirectory host_;
  boost::asio::thread_pool pool_{2};
};
std::unique_ptr<Engine> MountsTest::engine_;
EngineKind MountsTest::kind_ = EngineKind::kWasm;
INSTANTIATE_ON_BOTH_ENGINES(MountsTest);

// Where the engines differ: the kernel's file system differs from ours.
class WasmMountsTest : public MountsTest {};
INSTANTIATE_TEST_SUITE_P(, WasmMountsTest, ::testing::Values(EngineKind::kWasm),
                         [](const auto& info) { return NameOf(info.param); });
class NativeMountsTest : public MountsTest {};
INSTANTIATE_TEST_SUITE_P(, NativeMountsTest,
                         ::testing::Values(EngineKind::kNative, EngineKind::kForeign),
                         [](const auto& info) { return NameOf(info.param); });

TEST_P(MountsTest, FilesOfTheHostAreListedAndRead) {
  const Outcome outcome = Run(MountMode::kReadOnly,
                              "import os\n"
                              "[sorted(os.listdir('/data')), open('/data/d/b.txt').read(),\n"
                              " os.stat('/data/a.txt').st_size, os.path.exists('/data/none'),\n"
                              " [len(f) for _, _, f in os.walk('/data')]]");
  EXPECT_EQ(ResultJson(outcome), R"([["a.txt","d"],"beta\n",6,false,[1,1]])");
  EXPECT_TRUE(outcome.calls.empty());
}

TEST_P(MountsTest, ALargeFileIsReadLineByLineAndAnywhere) {
  std::string lines;
  for (int i = 0; i < 300'000; ++i) lines += std::to_string(i) + ",some text\n";
  host_.Put("big.csv", lines);
  const Outcome outcome = Run(MountMode::kReadOnly,
                              "f = open('/data/big.csv')\n"
                              "total = sum(int(line.split(',')[0]) for line in f)\n"
                              "b = open('/data/big.csv', 'rb')\n"
                              "b.seek(-10, 2)\ntail = b.read()\nb.seek(0)\nhead = b.read(3)\n"
                              "[total, len(open('/data/big.csv', 'rb').read()), tail, head]");
  EXPECT_EQ(outcome.status, RunStatus::kCompleted) << Ending(outcome);
  EXPECT_THAT(outcome.result_repr.value_or(ResultJson(outcome)),
              HasSubstr("44999850000, " + std::to_string(lines.size()) + ", b'some text\\n'"));
}

TEST_P(MountsTest, AReadOnlyMountCannotBeChanged) {
  const Outcome outcome = Run(MountMode::kReadOnly, R"(
import os, errno, shutil
def attempt(f, *a):
    try: f(*a)
    except OSError as e: return errno.errorcode[e.errno]
    return 'done'
[attempt(open, '/data/a.txt', 'w'), attempt(open, '/data/a.txt', 'a'), attempt(open, '/data/a.txt', 'r+'),
 attempt(open, '/data/n', 'x'), attempt(os.remove, '/data/a.txt'), attempt(os.mkdir, '/data/m'),
 attempt(os.rename, '/data/a.txt', '/data/z'),
 attempt(os.rename, '/tmp', '/data/t') in ('EROFS', 'EXDEV'),
 attempt(os.truncate, '/data/a.txt', 0), attempt(os.utime, '/data/a.txt'),
 attempt(os.rmdir, '/data/d'), attempt(os.symlink, '/data/a.txt', '/data/l') == 'done']
)");
  EXPECT_EQ(
      ResultJson(outcome),
      R"(["EROFS","EROFS","EROFS","EROFS","EROFS","EROFS","EROFS",true,"EROFS","EROFS","EROFS",false])");
  EXPECT_EQ(host_.Tree(), "a.txt d/ d/b.txt ");
  EXPECT_EQ(host_.Get("a.txt"), "alpha\n");
}

constexpr const char* kChangeEverything = R"(
import os, shutil
open('/data/a.txt', 'a').write('more\n')
os.makedirs('/data/new/deep')
open('/data/new/deep/x', 'w').write('x')
os.remove('/data/d/b.txt')
os.rmdir('/data/d')
with open('/data/same', 'w') as f: f.write('same')
sorted(os.listdir('/data')), open('/data/a.txt').read()
)";

TEST_P(MountsTest, AnRwMountHasTheChangesWhenTheRunHasCompleted) {
  host_.Put("same", "same");
  const Outcome outcome = Run(MountMode::kReadWrite, kChangeEverything);
  EXPECT_EQ(ResultJson(outcome), R"([["a.txt","new","same"],"alpha\nmore\n"])");
  EXPECT_EQ(host_.Tree(), "a.txt new/ new/deep/ new/deep/x same ");
  EXPECT_EQ(host_.Get("a.txt"), "alpha\nmore\n");
  std::string files;
  for (const OutcomeFile& file : outcome.files) files += file.change + " " + file.path + "; ";
  EXPECT_EQ(files, "modified /data/a.txt; deleted /data/d/b.txt; created /data/new/deep/x; ");
}

TEST_P(MountsTest, RootsRunsChangeFilesOfEveryOwner) {
  jail::SkipWithoutSysAdmin();
  host_.Put("all", "all\n");
  host_.Put("theirs/one", "one\n");
  const auto path = [this](const char* name) { return (host_.path() / name).string(); };
  for (const auto& [name, mode] : {std::pair("all", 0666), {"a.txt", 0644}, {"d/b.txt", 0600}}) {
    ASSERT_EQ(::chmod(path(name).c_str(), static_cast<mode_t>(mode)), 0);
    ASSERT_EQ(::chown(path(name).c_str(), 1000, 1000), 0);
  }
  ASSERT_EQ(::chown(path("theirs").c_str(), 1001, 1000), 0);
  const Outcome outcome = Run(MountMode::kReadWrite, R"(
import os
for name in 'all', 'a.txt', 'd/b.txt', 'theirs/one':
    with open('/data/' + name, 'a') as file: file.write('more')
open('/data/theirs/new', 'w').write('new')
os.rename('/data/d/b.txt', '/data/d/c.txt')
[open('/data/' + name).read() for name in ('all', 'a.txt', 'd/c.txt', 'theirs/one')]
)");
  EXPECT_EQ(ResultJson(outcome), R"(["all\nmore","alpha\nmore","beta\nmore","one\nmore"])")
      << Ending(outcome);
  EXPECT_EQ(host_.Tree(), "a.txt all d/ d/c.txt theirs/ theirs/new theirs/one ");
  EXPECT_EQ(host_.Get("d/c.txt"), "beta\nmore");
  for (const auto& [name, uid, mode] :
       {std::tuple("all", 1000u, 0666u), {"a.txt", 1000u, 0644u}, {"theirs/new", 1001u, 0644u}}) {
    struct stat status{};
    ASSERT_EQ(::stat(path(name).c_str(), &status), 0);
    EXPECT_EQ(status.st_uid, uid) << name;
    EXPECT_EQ(status.st_mode & 0777, mode) << name;
  }
}

TEST_P(MountsTest, AnOverlayIsPartOfTheOutcomeAlone) {
  const Outcome outcome = Run(MountMode::kOverlay, kChangeEverything);
  EXPECT_EQ(ResultJson(outcome), R"([["a.txt","new","same"],"alpha\nmore\n"])");
  EXPECT_EQ(outcome.files.size(), 4u);
  EXPECT_EQ(outcome.files[0].contents, "alpha\nmore\n");
  EXPECT_EQ(host_.Tree(), "a.txt d/ d/b.txt ");
}

TEST_P(MountsTest, ARunThatDoesNotCompleteChangesNothing) {
  const std::string write = "open('/data/a.txt', 'w').write('gone')\n";
  const Outcome raised = Run(MountMode::kReadWrite, write + "1/0");
  EXPECT_EQ(raised.reason, RunReason::kRaised);
  EXPECT_EQ(raised.files.size(), 1u);
  const Outcome late = Run(MountMode::kReadWrite, write + "while True: pass", {.wall_time = 300ms});
  EXPECT_EQ(late.reason, RunReason::kWallTime);
  EXPECT_EQ(late.files.size(), 1u);
  EXPECT_EQ(host_.Get("a.txt"), "alpha\n");
}

TEST_P(MountsTest, AConflictIsToldAndNothingIsWritten) {
  Guest guest = Guest::Open(*engine_, "ann", Files(MountMode::kReadWrite));
  guest.Start({.code = "open('/data/new', 'w').write('n')\nopen('/data/a.txt', 'a').write('mine')\n"
                       "tool()",
               .tools = {"tool"}});
  const ToolCall call = guest.NextCall();
  host_.Put("a.txt", "theirs");
  ASSERT_TRUE(guest.Answer(call.seq, Value(1)));
  const Outcome outcome = guest.End();
  EXPECT_EQ(outcome.reason, RunReason::kFiles) << Ending(outcome);
  EXPECT_THAT(Ending(outcome), HasSubstr("MountConflict"));
  EXPECT_EQ(host_.Tree(), "a.txt d/ d/b.txt ");
  EXPECT_EQ(host_.Get("a.txt"), "theirs");
}

TEST_P(MountsTest, QuotasAreErrorsWhileWriting) {
  Guest guest = Guest::Open(*engine_, "ann", Files(MountMode::kOverlay, 8192));
  guest.Start(
      {.code =
           "import errno\nf = open('/data/n', 'wb', buffering=0)\nn = f.write(b'x' * 9000)\n"
           "try: f.write(b'x')\nexcept OSError as e: code = errno.errorcode[e.errno]\n[n, code]"});
  EXPECT_EQ(ResultJson(guest.End()), R"([8192,"ENOSPC"])");
}

TEST_P(MountsTest, TooManyChangesAreNotAppliedInPart) {
  Limits limits;
  limits.files = 3;
  const Outcome outcome =
      Run(MountMode::kReadWrite, "for i in range(5): open(f'/data/{i}', 'w').write('x')", limits);
  EXPECT_EQ(outcome.reason, RunReason::kFiles);
  EXPECT_EQ(host_.Tree(), "a.txt d/ d/b.txt ");
}

// Neither from a mount, nor from a mount that is the current directory.
TEST_P(MountsTest, PlantedModulesAreData) {
  for (const char* name :
       {"json.py", "sitecustomize.py", "usercustomize.py", "statistics.py", "x.pth"}) {
    host_.Put(name, "raise SystemExit('planted')\n");
  }
  for (const std::string at : {"/data", "/output"}) {
    Guest guest = Guest::Open(*engine_, "ann", Files(MountMode::kReadOnly, 0, at));
    guest.Start(
        {.code = "import json, statistics, sys, os\nat = '" + at +
                 "'\n"
                 "[json.loads('1'), statistics.mean([1, 3]), json.__file__.startswith(at),\n"
                 " any(p.startswith(at) or p in ('', '.') for p in sys.path), os.getcwd()]"});
    EXPECT_EQ(ResultJson(guest.End()), R"([1,2,false,false,"/output"])");
  }
}

TEST_P(WasmMountsTest, LinksAndPipesOfTheHostAreNotThere) {
  std::filesystem::create_symlink("/etc/passwd", host_.path() / "link");
  std::filesystem::create_directory_symlink("/etc", host_.path() / "etc");
  ASSERT_EQ(::mkfifo((host_.path() / "pipe").c_str(), 0666), 0);
  const Outcome outcome =
      Run(MountMode::kReadOnly,
          "import os\n"
          "def there(p):\n"
          "    try: open(p); return True\n"
          "    except FileNotFoundError: return False\n"
          "[sorted(os.listdir('/data')), there('/data/link'), there('/data/pipe'),\n"
          " there('/data/etc/passwd'), there('/data/../etc/passwd')]");
  EXPECT_EQ(ResultJson(outcome), R"([["a.txt","d"],false,false,false,false])");
}

TEST_P(MountsTest, ALinkOfTheHostIsLeftAloneAndTheConflictSaysThatItIsOne) {
  std::filesystem::create_symlink("a.txt", host_.path() / "link");
  const bool is_wasm = GetParam() == EngineKind::kWasm;
  const Outcome outcome =
      Run(MountMode::kReadWrite,
          is_wasm ? "open('/data/link', 'w').write('mine')" : "import os\nos.remove('/data/link')");
  EXPECT_THAT(Ending(outcome), HasSubstr("link is a link on the host"));
  EXPECT_EQ(host_.Tree(), "a.txt d/ d/b.txt link ");
  EXPECT_EQ(host_.Get("a.txt"), "alpha\n");
}

TEST_P(MountsTest, NothingIsMadeTooDeep) {
  const Outcome outcome = Run(MountMode::kReadWrite,
                              "import os\nos.chdir('/data')\n"
                              "for i in range(200): os.mkdir('e'); os.chdir('e')");
  EXPECT_EQ(outcome.status, RunStatus::kFailed) << Ending(outcome);
  EXPECT_EQ(host_.Tree(), "a.txt d/ d/b.txt ");
}

TEST_P(MountsTest, FilesOfTheOutcomeAreInPathOrder) {
  host_.Put("d/c/x", "x");
  const Outcome outcome = Run(MountMode::kReadWrite, R"(
import os, shutil
shutil.rmtree('/data/d')
open('/data/d', 'w').write('now a file')
open('/data/c', 'w').write('c')
open('/output/o', 'w').write('o')
)");
  std::string files;
  for (const OutcomeFile& file : outcome.files) files += file.change + " " + file.path + "; ";
  EXPECT_EQ(files,
            "created /data/c; created /data/d; deleted /data/d/b.txt; deleted /data/d/c/x; "
            "created /output/o; ")
      << Ending(outcome);
}

TEST_P(MountsTest, AFileTooLargeForTheOutcomeIsNotAppliedAndTheLimitIsNamed) {
  Limits limits;
  limits.file_bytes = 1 << 20;
  const Outcome outcome = Run(MountMode::kReadWrite,
                              "open('/tmp/scratch', 'wb').write(bytes(2 << 20))\n"
                              "open('/data/n', 'wb').write(bytes(2 << 20))",
                              limits);
  EXPECT_EQ(outcome.status, RunStatus::kFailed);
  EXPECT_THAT(Ending(outcome),
              HasSubstr(GetParam() == EngineKind::kWasm ? "OSError" : "(file_bytes)"));
  EXPECT_EQ(host_.Tree(), "a.txt d/ d/b.txt ");
}

// The layer is a kernel overlay: entries that are not files are visible, but lead nowhere.
TEST_P(NativeMountsTest, LinksOfTheHostLeadNowhereAndItsPipesAreNotConnected) {
  std::filesystem::create_symlink("/etc/passwd", host_.path() / "link");
  std::filesystem::create_directory_symlink("/etc", host_.path() / "etc");
  ASSERT_EQ(::mkfifo((host_.path() / "pipe").c_str(), 0666), 0);
  const UniqueFd reader(::open((host_.path() / "pipe").c_str(), O_RDONLY | O_NONBLOCK));
  for (const MountMode mode : {MountMode::kReadOnly, MountMode::kOverlay, MountMode::kReadWrite}) {
    const Outcome outcome = Run(mode, R"(
import os, errno
def attempt(f, *a):
    try: return f(*a)
    except OSError as e: return errno.errorcode[e.errno]
[attempt(open, '/data/link'), attempt(open, '/data/etc/passwd'), attempt(os.listdir, '/data/etc'),
 attempt(os.open, '/data/pipe', os.O_WRONLY | os.O_NONBLOCK)]
)");
    EXPECT_THAT(ResultJson(outcome), HasSubstr(R"(["ELOOP","ELOOP","ELOOP","E)"));
  }
  char byte = 0;
  EXPECT_EQ(::read(reader.get(), &byte, 1), 0);  // No process has written to it or has it open.
}

TEST_P(NativeMountsTest, ADirectoryThatWasReplacedIsReplaced) {
  host_.Put("d/deep/x", "x");
  const Outcome outcome = Run(MountMode::kReadWrite,
                              "import shutil, os\nshutil.rmtree('/data/d')\nos.mkdir('/data/d')\n"
                              "open('/data/d/deep', 'w').write('now a file')\n"
                              "os.remove('/data/a.txt')\nos.mkdir('/data/a.txt')");
  EXPECT_EQ(outcome.status, RunStatus::kCompleted) << Ending(outcome);
  EXPECT_EQ(host_.Tree(), "a.txt/ d/ d/deep ");
  EXPECT_EQ(host_.Get("d/deep"), "now a file");
}

TEST_P(NativeMountsTest, AFileThatTheHostRemovedMeanwhileIsAConflict) {
  Guest guest = Guest::Open(*engine_, "ann", Files(MountMode::kReadWrite));
  guest.Start({.code = "open('/data/a.txt', 'a').write('mine')\ntool()", .tools = {"tool"}});
  const ToolCall call = guest.NextCall();
  std::filesystem::remove(host_.path() / "a.txt");
  ASSERT_TRUE(guest.Answer(call.seq, Value(1)));
  const Outcome outcome = guest.End();
  EXPECT_THAT(Ending(outcome), HasSubstr("MountConflict"));
  EXPECT_EQ(host_.Tree(), "d/ d/b.txt ");
}

TEST_P(MountsTest, FilesOfTheHostAreRenamedHoweverOneLikes) {
  const auto rename = [](const std::string& from, const std::string& to) {
    return "import os\nos.rename('/data/" + from + "', '/data/" + to + "')\n";
  };
  const auto write = [](const std::string& path, const std::string& text) {
    return "open('/data/" + path + "', 'w').write('" + text + "')\n";
  };
  struct Shape {
    std::string code;
    std::string tree;
    std::vector<std::pair<std::string, std::string>> contents;
  };
  const std::vector<Shape> shapes = {
      {rename("a.txt", "q"), "d/ d/b.txt q ", {{"q", "alpha\n"}}},
      {rename("a.txt", "d/q"), "d/ d/b.txt d/q ", {{"d/q", "alpha\n"}}},
      {rename("d/b.txt", "q"), "a.txt d/ q ", {{"q", "beta\n"}}},
      {write("n", "new") + rename("n", "q"), "a.txt d/ d/b.txt q ", {{"q", "new"}}},
      {rename("a.txt", "q") + write("q", "more"), "d/ d/b.txt q ", {{"q", "more"}}},
      {rename("a.txt", "p") + rename("p", "q"), "d/ d/b.txt q ", {{"q", "alpha\n"}}},
      {rename("a.txt", "q") + rename("q", "a.txt"), "a.txt d/ d/b.txt ", {{"a.txt", "alpha\n"}}},
      {rename("a.txt", "t") + rename("d/b.txt", "a.txt") + rename("t", "d/b.txt"),
       "a.txt d/ d/b.txt ",
       {{"a.txt", "beta\n"}, {"d/b.txt", "alpha\n"}}},
      {rename("a.txt", "d/b.txt"), "d/ d/b.txt ", {{"d/b.txt", "alpha\n"}}},
      {rename("a.txt", "q") + write("a.txt", "again"),
       "a.txt d/ d/b.txt q ",
       {{"a.txt", "again"}, {"q", "alpha\n"}}},
      {"import os\nos.makedirs('/data/n/m')\n" + rename("a.txt", "n/m/q"),
       "d/ d/b.txt n/ n/m/ n/m/q ",
       {{"n/m/q", "alpha\n"}}},
      {rename("d/b.txt", "b") + "os.rmdir('/data/d')\n" + rename("b", "d"),
       "a.txt d ",
       {{"d", "beta\n"}}},
  };
  for (const Shape& shape : shapes) {
    std::filesystem::remove_all(host_.path());
    host_.Put("a.txt", "alpha\n");
    host_.Put("d/b.txt", "beta\n");
    const Outcome outcome = Run(MountMode::kReadWrite, shape.code);
    EXPECT_EQ(outcome.status, RunStatus::kCompleted) << shape.code << Ending(outcome);
    EXPECT_EQ(host_.Tree(), shape.tree) << shape.code;
    for (const auto& [path, contents] : shape.contents) {
      EXPECT_EQ(host_.Get(path), contents) << shape.code;
    }
  }
}

TEST_P(NativeMountsTest, AFileThatTheHostMayHaveRemovedIsNoRename) {
  Guest guest = Guest::Open(*engine_, "ann", Files(MountMode::kReadWrite));
  guest.Start(
      {.code = "import os\nos.rename('/data/a.txt', '/data/q')\ntool()", .tools = {"tool"}});
  const ToolCall call = guest.NextCall();
  std::filesystem::remove(host_.path() / "a.txt");
  ASSERT_TRUE(guest.Answer(call.seq, Value(1)));
  EXPECT_THAT(Ending(guest.End()), HasSubstr("MountConflict"));
  EXPECT_EQ(host_.Tree(), "d/ d/b.txt ");
}

TEST_P(NativeMountsTest, ASessionHasNoRwMount) {
  Guest guest = Guest::Open(*engine_, "ann", Files(MountMode::kReadWrite));
  guest.Start({.code = "1"}, AfterRun::kKeep);
  const auto ended = guest.EndOrError();
  ASSERT_FALSE(ended);
  EXPECT_THAT(ended.error().message(), HasSubstr("engine wasm"));
  guest.Start({.code = "open('/data/n', 'w').write('n')"});
  EXPECT_EQ(guest.End().status, RunStatus::kCompleted);
  EXPECT_EQ(host_.Get("n"), "n");
}

TEST_P(NativeMountsTest, TierLandlockHasReadOnlyMounts) {
  auto landlock = StartEngine(EngineKind::kNative, {.tier = jail::Tier::kLandlock});
  host_.Put("n", "from the host");
  // Without namespaces the host's permissions apply, and cells of a root host run as another user.
  std::filesystem::permissions(host_.path(), std::filesystem::perms(0755));
  std::filesystem::permissions(host_.path() / "n", std::filesystem::perms(0644));
  Guest guest = Guest::Open(*landlock, "ann", Files(MountMode::kReadOnly));
  guest.Start({.code = "import os\n"
                       "try:\n"
                       "    open('/data/n', 'w')\n"
                       "except OSError as refused:\n"
                       "    error = type(refused).__name__\n"
                       "[open('/data/n').read(), 'n' in os.listdir('/data'), error]"});
  const Outcome outcome = guest.End();
  ASSERT_EQ(outcome.status, RunStatus::kCompleted) << ToJson(outcome, FileData::kOmit);
  EXPECT_THAT(ToJson(outcome, FileData::kOmit),
              HasSubstr(R"(["from the host",true,"PermissionError"])"));
}

TEST_P(NativeMountsTest, TierLandlockHasNoOtherMountsAndSaysSo) {
  auto landlock = StartEngine(EngineKind::kNative, {.tier = jail::Tier::kLandlock});
  Guest guest = Guest::Open(*landlock, "ann", Files(MountMode::kReadWrite));
  guest.Start({.code = "1"});
  const auto ended = guest.EndOrError();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code(), ErrorCode::kFailedPrecondition);
  EXPECT_THAT(ended.error().message(), HasSubstr("tier namespace"));
}

TEST_P(NativeMountsTest, SeveralMountsAreEachTheirOwn) {
  jail::SkipIfOwnersCannotBeMapped();
  TestDirectory other;
  other.Put("o", "other");
  auto files =
      Workspace::Open({{.host = host_.path().string(),
                        .point = {.guest_path = "/data", .mode = MountMode::kReadWrite}},
                       {.host = other.path().string(), .point = {.guest_path = "/deep/er/ro"}}},
                      {.pool = pool_.get_executor()});
  ASSERT_TRUE(files);
  Guest guest = Guest::Open(*engine_, "ann", *files);
  guest.Start({.code = "import shutil, os\nshutil.copy('/deep/er/ro/o', '/data/copy')\n"
                       "sorted(os.listdir('/')), os.listdir('/deep')"});
  const std::string loader = GetParam() == EngineKind::kForeign ? R"("lib64",)" : "";
  EXPECT_EQ(ResultJson(guest.End()), R"([["data","deep","dev","etc","input","lib",)" + loader +
                                         R"("output","tmp","usr"],["er"]])");
  EXPECT_EQ(host_.Get("copy"), "other");
}

TEST_P(WasmMountsTest, ASessionsRunsApplyOneAfterTheOther) {
  Guest guest = Guest::Open(*engine_, "ann", Files(MountMode::kReadWrite));
  guest.Start({.code = "f = open('/data/log', 'w'); f.write('one\\n'); f.flush()"},
              AfterRun::kKeep);
  EXPECT_EQ(guest.End().status, RunStatus::kCompleted);
  EXPECT_EQ(host_.Get("log"), "one\n");
  guest.Start({.code = "f.write('two\\n'); f.close()"}, AfterRun::kKeep);
  const Outcome second = guest.End();
  EXPECT_EQ(second.status, RunStatus::kCompleted) << Ending(second);
  EXPECT_EQ(host_.Get("log"), "one\ntwo\n");
}

TEST_P(WasmMountsTest, ASavedCellGoesOnElsewhereWithItsLayer) {
  const auto there = StartWasm();
  SavedCell saved;
  {
    Guest guest = Guest::Open(*engine_, "ann", Files(MountMode::kReadWrite));
    guest.Start({.code =
                     "f = open('/data/d/b.txt'); f.read(2)\nopen('/data/a.txt', 'a').write('!')\n"
                     "x = tool()\n[f.read(), open('/data/a.txt').read(), x]",
                 .tools = {"tool"}});
    guest.NextCall();
    auto bytes = guest.Save(AfterSave::kDiscard);
    ASSERT_TRUE(bytes) << bytes.error().message();
    saved = *std::move(bytes);
    EXPECT_EQ(guest.End().status, RunStatus::kWaiting);
  }
  EXPECT_EQ(host_.Get("a.txt"), "alpha\n");
  EXPECT_FALSE(Guest::Restore(*there, saved));  // Not without its mounts.
  auto guest = Guest::Restore(*there, saved, {}, "ann", Files(MountMode::kReadWrite));
  ASSERT_TRUE(guest) << guest.error().message();
  guest->Continue();
  ASSERT_TRUE(guest->Answer(0, Value(5)));
  EXPECT_EQ(ResultJson(guest->End()), R"(["ta\n","alpha\n!",5])");
  EXPECT_EQ(host_.Get("a.txt"), "alpha\n!");
}

// A disk that does not answer.
class SilentFiles final : public HostFiles {
 public:
  std::span<const MountPoint> mounts() const override { return mounts_; }
  void List(std::uint32_t, std::string, Done<std::vector<HostEntry>> done) override {
    const std::scoped_lock lock(mutex_);
    waiting_.push_back(std::move(done));
    asked_.notify_all();
  }
  void Read(std::uint32_t, HostRange, Done<std::string>) override {}
  void Settle(std::vector<HostChange>, Outcome outcome, SettleDone done) override {
    done(std::move(outcome));
  }

  void AwaitRequest() {
    std::unique_lock lock(mutex_);
    ASSERT_TRUE(asked_.wait_for(lock, 60s, [&] { return !waiting_.empty(); }));
  }
  void AnswerAll() {
    const std::scoped_lock lock(mutex_);
    for (auto& done : std::exchange(waiting_, {})) done(std::vector<HostEntry>());
  }

 private:
  const std::vector<MountPoint> mounts_ = {{.guest_path = "/data"}};
  std::mutex mutex_;
  std::condition_variable asked_;
  std::vector<Done<std::vector<HostEntry>>> waiting_;
};

TEST_P(WasmMountsTest, ADiskThatDoesNotAnswerHoldsUpNobodyElseAndEndsWithTheWallTime) {
  const auto silent = std::make_shared<SilentFiles>();
  Guest guest = Guest::Open(*engine_, "ann", silent);
  guest.Start({.code = "open('/data/x')", .limits = {.wall_time = 1s}}, AfterRun::kKeep);
  silent->AwaitRequest();
  EXPECT_EQ(ResultJson(RunCode(*engine_, "6 * 7")), "42");
  EXPECT_EQ(guest.End().reason, RunReason::kWallTime);
  silent->AnswerAll();  // Too late; nobody waits.
  EXPECT_EQ(ResultJson(RunCode(*engine_, "6 * 7")), "42");

  Guest cancelled = Guest::Open(*engine_, "ann", silent);
  cancelled.Start({.code = "open('/data/x')"});
  silent->AwaitRequest();
  cancelled.Cancel();
  EXPECT_EQ(cancelled.End().status, RunStatus::kCancelled);
  silent->AnswerAll();
  EXPECT_EQ(ResultJson(RunCode(*engine_, "6 * 7")), "42");
}

// The timer can preempt a cell anywhere, also between the request and the wait for the answer.
TEST_P(MountsTest, ReadingGoesOnBesideACellThatComputes) {
  host_.Put("big", std::string(1 << 20, 'x'));
  Guest busy = Guest::Open(*engine_, "bob");
  busy.Start({.code = "print('on', flush=True)\nwhile True: pass", .limits = {.wall_time = 60s}});
  busy.WaitForOutput("on");
  Guest guest = Guest::Open(*engine_, "ann", Files(MountMode::kReadOnly));
  guest.Start({.code = "import os\nfd = os.open('/data/big', os.O_RDONLY)\nn = 0\n"
                       "for i in range(300): n += len(os.pread(fd, 10, i * 70000 % 1000000))\nn",
               .limits = {.wall_time = 60s}});
  EXPECT_EQ(ResultJson(guest.End()), "3000");
  busy.Cancel();
  EXPECT_EQ(busy.End().status, RunStatus::kCancelled);
}

TEST_P(MountsTest, CellsSeeTheirOwnMountsAlone) {
  Guest with = Guest::Open(*engine_, "ann", Files(MountMode::kReadOnly));
  Guest without = Guest::Open(*engine_, "bob");
  const char* code = "import os\nos.path.exists('/data/a.txt')";
  with.Start({.code = code});
  EXPECT_EQ(ResultJson(with.End()), "true");
  without.Start({.code = code});
  EXPECT_EQ(ResultJson(without.End()), "false");
}

}  // namespace
}  // namespace caisson::testing
