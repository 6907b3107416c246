// CPythons of other versions, each started by a real fork server for every run: they behave like
// the embedded one, and the walls around them are the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "engine/native/forkserver/testing/driver.h"

namespace caisson::forkserver {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr int kSkipped = 77;

// Returns the prefixes in the build's own directory, and those in CAISSON_PYTHONS (separated by
// colons).
std::vector<std::string> Prefixes() {
  std::vector<std::string> found;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(CAISSON_PYTHONS_DIR, failed)) {
    found.push_back(entry.path().string());
  }
  const char* named = std::getenv("CAISSON_PYTHONS");
  std::istringstream more(named == nullptr ? "" : named);
  for (std::string prefix; std::getline(more, prefix, ':');) found.push_back(prefix);
  std::ranges::sort(found);
  return found;
}

// The value of a line of /proc/PID/status.
std::string Status(pid_t pid, const std::string& key) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(key + ":\t")) return line.substr(key.size() + 2);
  }
  return "-";
}

Value Echo(const std::string&, const std::vector<Value>& positional) {
  return positional.empty() ? Value() : positional[0];
}

class ForeignTest : public testing::TestWithParam<std::string> {
 protected:
  Driver& fork_server() {
    if (!driver_) {
      auto driver = Driver::Start(jail::Tier::kNamespace, {"--prefix=" + GetParam()});
      if (!driver) {
        std::fprintf(stderr, "%s\n", driver.error().message().c_str());
        std::abort();
      }
      driver_ = std::make_unique<Driver>(*std::move(driver));
    }
    return *driver_;
  }
  std::string Run(const std::string& code, const RunOptions& options = {}) {
    DrivenCell cell = fork_server().Make();
    EXPECT_TRUE(cell.prepared) << cell.failed;
    return cell.prepared ? cell.Run(code, options, Echo).Result() : "not prepared";
  }

 private:
  std::unique_ptr<Driver> driver_;
};

std::string NameOf(const testing::TestParamInfo<std::string>& info) {
  std::string name = fs::path(info.param).filename().string();
  std::ranges::replace_if(name, [](char c) { return std::isalnum(c) == 0; }, '_');
  return "v" + name;
}
INSTANTIATE_TEST_SUITE_P(Versions, ForeignTest, testing::ValuesIn(Prefixes()), NameOf);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ForeignTest);

TEST_P(ForeignTest, ItIsThatPython) {
  EXPECT_EQ(Run("import sys\nsys.prefix"), "\"" + GetParam() + "\"");
  EXPECT_EQ(Run("import sys\nsys.version_info[1] == 11"), "false");
}

TEST_P(ForeignTest, RunsCodeStreamsOutputAndNamesLines) {
  DrivenCell cell = fork_server().Make();
  ASSERT_TRUE(cell.prepared) << cell.failed;
  const RunEnd end = cell.Run("import sys\nprint('out')\nprint('err', file=sys.stderr)\n6 * 7");
  EXPECT_EQ(end.Result(), "42");
  EXPECT_EQ(cell.Output(), "out\n");
  EXPECT_EQ(cell.ErrorOutput(), "err\n");
  const RunEnd raised = fork_server().Make().Run("def f():\n    return 1 / 0\nf()");
  EXPECT_EQ(raised.ErrorText("type"), "ZeroDivisionError");
  EXPECT_THAT(raised.ErrorText("traceback"), HasSubstr("line 2, in f\n    return 1 / 0"));
  EXPECT_THAT(raised.ErrorText("traceback"), Not(HasSubstr("caisson")));
}

TEST_P(ForeignTest, ToolsAreFunctionsAwaitedOrNot) {
  EXPECT_EQ(Run("import asyncio\n[echo(1), await echo(2), *await asyncio.gather(*[echo(i) for i in "
                "range(3)])]",
                {.tools = {"echo"}}),
            "[1,2,0,1,2]");
  EXPECT_EQ(Run("call_tool('echo')\nreturn 'done'", {.tools = {"echo"}}), "\"done\"");
}

TEST_P(ForeignTest, ThreadsAndSessionsWork) {
  EXPECT_EQ(
      Run("import threading\nfound = []\n"
          "t = threading.Thread(target=lambda: found.append(echo(5)))\nt.start()\nt.join()\nfound",
          {.tools = {"echo"}}),
      "[5]");
  DrivenCell cell = fork_server().Make();
  ASSERT_TRUE(cell.prepared) << cell.failed;
  EXPECT_EQ(cell.Run("x = 20", {.flags = wire::kKeepCell}).Text("end"), "returned");
  EXPECT_EQ(cell.Run("x + 1", {.flags = wire::kKeepCell, .again = true}).Result(), "21");
}

TEST_P(ForeignTest, MemoryIsLimitedAndTheLimitSaysSo) {
  DrivenCell cell = fork_server().Make();
  ASSERT_TRUE(cell.prepared) << cell.failed;
  const RunEnd end = cell.Run("x = bytearray(400 << 20)", {.memory_bytes = 256 << 20});
  EXPECT_EQ(end.ErrorText("type"), "MemoryError");
  EXPECT_NE(end.done.flags & wire::kMemoryRefused, 0u);
  EXPECT_EQ(Run("len(bytearray(100 << 20))"), "104857600");
}

// Checked while code runs, as the host sees it.
TEST_P(ForeignTest, EveryWallStandsAroundTheRunningInterpreter) {
  DrivenCell cell = fork_server().Make();
  ASSERT_TRUE(cell.prepared) << cell.failed;
  cell.SendStart(
      "import os\necho(sorted(int(os.path.exists(p)) for p in ['/root', '/home', '/proc']))",
      {.tools = {"echo"}});
  const auto call = cell.Receive();
  ASSERT_TRUE(call && call->kind == wire::ToHost::kCall);
  const pid_t pid = cell.HostPid();
  EXPECT_EQ(Status(pid, "Seccomp"), "2");
  EXPECT_EQ(Status(pid, "NoNewPrivs"), "1");
  for (const char* set : {"CapEff", "CapPrm", "CapInh", "CapAmb"}) {
    EXPECT_EQ(Status(pid, set), "0000000000000000") << set;
  }
  for (const char* space : {"user", "mnt", "pid", "net", "ipc", "uts"}) {
    const std::string own = std::string("/proc/self/ns/") + space;
    const std::string its = "/proc/" + std::to_string(pid) + "/ns/" + space;
    EXPECT_NE(fs::read_symlink(own), fs::read_symlink(its)) << space;
  }
  std::vector<std::string> open;
  for (const auto& entry : fs::directory_iterator("/proc/" + std::to_string(pid) + "/fd")) {
    open.push_back(entry.path().filename());
  }
  std::ranges::sort(open);
  EXPECT_THAT(open, testing::ElementsAre("0", "1", "2", "3"));
}

TEST_P(ForeignTest, NothingCanBeExecutedNotEvenItself) {
  EXPECT_THAT(Run("import os\nos.execv('/usr/bin/true', ['true'])"),
              testing::StartsWith("PermissionError"));
  EXPECT_THAT(Run("import os, sys\nos.execv(sys.executable, ['python'])"),
              testing::StartsWith("PermissionError"));
  // The descriptor number with which its own start was allowed can no longer be used.
  EXPECT_THAT(Run("import os\nos.dup2(os.open('/dev/null', 0), 1023)"),
              testing::StartsWith("OSError"));
  EXPECT_THAT(Run("import resource as r\nr.setrlimit(r.RLIMIT_NOFILE, (2000, 2000))"),
              testing::StartsWith("ValueError"));
}

}  // namespace
}  // namespace caisson::forkserver

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (caisson::forkserver::Prefixes().empty()) {
    std::puts("skipped: no Python of another version in " CAISSON_PYTHONS_DIR
              " or CAISSON_PYTHONS");
    return caisson::forkserver::kSkipped;
  }
  return RUN_ALL_TESTS();
}
