// Engine native without namespaces: files, threads and their limits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/integration/engines.h"
#include "tests/integration/guest.h"
#include "workspace/testing/test_directory.h"

namespace caisson::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

class LandlockTest : public ::testing::Test {
 protected:
  Outcome Run(const std::string& code, Limits limits = {}) {
    Guest guest = Guest::Open(*engine_, "ann");
    guest.Start({.code = code, .limits = limits});
    return guest.End();
  }

  std::unique_ptr<Engine> Start() const {
    fs::permissions(scratch_.path(), fs::perms::owner_all | fs::perms::others_exec);
    NativeEngineOptions options = NativeOptions({.tier = jail::Tier::kLandlock});
    options.scratch = scratch_.path();
    return StartNative(std::move(options));
  }

  workspace::TestDirectory scratch_;
  std::unique_ptr<Engine> engine_ = Start();
};

TEST_F(LandlockTest, CellsHaveFilesOfTheirOwn) {
  const Outcome outcome = Run(R"(
import os, tempfile
open('/tmp/a', 'w').write('a')
open('b', 'w').write('bb')
os.mkdir('/output/d'); os.rename('/tmp/a', '/output/d/a')
with tempfile.NamedTemporaryFile() as file: file.write(b'x')
[os.getcwd(), sorted(os.listdir('/output')), os.path.exists('/tmp/a'), os.stat('/output/b').st_size]
)");
  ASSERT_EQ(outcome.status, RunStatus::kCompleted) << ToJson(outcome, FileData::kOmit);
  EXPECT_THAT(ToJson(outcome, FileData::kOmit), HasSubstr(R"(["/output",["b","d"],false,2])"));
  ASSERT_EQ(outcome.files.size(), 2U);
  EXPECT_EQ(outcome.files[0].path, "/output/b");
  EXPECT_EQ(outcome.files[1].contents, "a");
}

TEST_F(LandlockTest, ACellSeesNothingOfTheOneBefore) {
  Run("open('/tmp/secret', 'w').write('x')");
  const Outcome outcome = Run("import os; [os.listdir('/tmp'), os.listdir('/output')]");
  EXPECT_THAT(ToJson(outcome, FileData::kOmit), HasSubstr("[[],[]]"));
}

TEST_F(LandlockTest, FilesOutsideCannotBeReached) {
  const Outcome outcome = Run(R"(
import os
refused = []
os.symlink('/etc/passwd', '/output/link')
for path in ('/etc/passwd', '/output/link', '/output/../../../etc/passwd', '/proc/self/environ'):
    try: open(path).read()
    except OSError as error: refused.append(type(error).__name__)
for path in ('/etc/x', '/var/tmp/x', '/dev/shm/x'):
    try: open(path, 'w')
    except OSError as error: refused.append(type(error).__name__)
len(refused)
)");
  EXPECT_EQ(outcome.result, Value(std::int64_t{7})) << ToJson(outcome, FileData::kOmit);
}

TEST_F(LandlockTest, ThreadsWorkUpToTheirLimit) {
  const Outcome outcome = Run(R"(
import threading
go = threading.Event()
threads = []
try:
    for i in range(200):
        threads.append(threading.Thread(target=go.wait)); threads[-1].start()
except RuntimeError: pass
made = sum(t.is_alive() for t in threads)
go.set()
for t in threads:
    if t.ident: t.join()
8 <= made <= 32
)");
  EXPECT_EQ(outcome.result, Value(true)) << ToJson(outcome, FileData::kOmit);
}

TEST_F(LandlockTest, NamesAreCountedAndThoseThatAreGoneDoNotCount) {
  const Outcome outcome =
      Run(R"(
import os
for i in range(6000):
    open('/tmp/one', 'w').close(); os.unlink('/tmp/one')
made = 0
try:
    for made in range(6000): open(f'/tmp/{made}', 'w').close()
except OSError as error: made = [error.errno == 28, 4000 < made < 4200]
made
)",
          {.wall_time = std::chrono::seconds(60), .cpu_time = std::chrono::seconds(60)});
  EXPECT_THAT(ToJson(outcome, FileData::kOmit), HasSubstr("[true,true]"));
}

TEST_F(LandlockTest, ARunThatFillsTheDiskEnds) {
  const Outcome outcome =
      Run(R"(
for i in range(4000):
    open(f'/tmp/{i}', 'wb').write(bytes(8 << 20))
)",
          {.wall_time = std::chrono::seconds(60), .cpu_time = std::chrono::seconds(60)});
  EXPECT_EQ(outcome.status, RunStatus::kLimit) << ToJson(outcome, FileData::kOmit);
  EXPECT_EQ(outcome.reason, RunReason::kFiles);
}

TEST_F(LandlockTest, NothingIsLeftOnTheDisk) {
  EXPECT_NE(scratch_.Tree(), "");
  Run("open('/tmp/x', 'w').write('x')");
  Run("import os; open('/tmp/x', 'w').write('x'); os.abort()");
  engine_.reset();
  EXPECT_EQ(scratch_.Tree(), "");
}

TEST(ForeignLandlockTest, CellsWithoutFilesLackNoWallAroundFiles) {
  const auto engine = StartEngine(EngineKind::kForeign, {.tier = jail::Tier::kLandlock});
  Guest guest = Guest::Open(*engine, "ann");
  guest.Start({.code = "1"});
  EXPECT_THAT(guest.End().boundary.missing, Not(Contains("noexec_files")));
}

}  // namespace
}  // namespace caisson::testing
