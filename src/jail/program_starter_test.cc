#include "jail/program_starter.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "jail/program.h"

namespace caisson::jail {
namespace {

std::size_t OpenDescriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

std::string FirstChild() {
  std::ifstream children("/proc/thread-self/children");
  std::string pid;
  children >> pid;
  return pid;
}

TEST(ProgramStarterTest, StartsProgramsAsTheHostWould) {
  const std::size_t before = OpenDescriptors();
  {
    const auto starter = ProgramStarter::Make(0);
    ASSERT_TRUE(starter) << starter.error().message();
    const std::string process = FirstChild();
    CallerHost host({});
    const auto environment =
        ChildEnvironment::Build(CallerContext(host), {.own = {{"B", "2"}, {"A", "1"}}});
    const std::string much(60'000, 'x');
    for (int i = 0; i < 3; ++i) {
      const auto result = RunProgram({.argv = {"/bin/sh", "-c",
                                               "env; pwd; cat; ls /proc/self/fd; "
                                               "echo ${#0}; exit 3",
                                               much},
                                      .input = "in\n",
                                      .environment = *environment,
                                      .directory = "/usr",
                                      .starter = starter->get()});
      ASSERT_TRUE(result) << result.error().message();
      EXPECT_EQ(result->status, 3);
      EXPECT_EQ(result->output, "A=1\nB=2\nPWD=/usr\n/usr\nin\n0\n1\n2\n3\n60000\n");
    }
    EXPECT_EQ(FirstChild(), process);  // It was not lost.
  }
  EXPECT_EQ(OpenDescriptors(), before);
  EXPECT_EQ(FirstChild(), "");
}

TEST(ProgramStarterTest, ReportsThatAProgramIsMissing) {
  const auto starter = ProgramStarter::Make(0);
  ASSERT_TRUE(starter);
  const auto result = RunProgram({.argv = {"/no/such"}, .starter = starter->get()});
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message().find("start /no/such"), std::string::npos);
}

// Copying the host delays its threads. The larger the host, the longer the delay.
TEST(ProgramStarterTest, MemoryThatTheHostAllocatesLaterIsNotCopied) {
  constexpr std::size_t kBytes = 256u << 20;
  const auto pages_of_minder = [](ProgramStarter* starter) {
    const auto result =
        RunProgram({.argv = {"/bin/sh", "-c", "read pages rest < /proc/$PPID/statm; echo $pages"},
                    .starter = starter});
    return result ? std::stoull(result->output) : 0;
  };
  const auto starter = ProgramStarter::Make(0);
  ASSERT_TRUE(starter);
  const auto before = pages_of_minder(starter->get());
  void* memory =
      ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  const auto after = pages_of_minder(starter->get());
  ::munmap(memory, kBytes);
  EXPECT_GT(before, 0u);
  EXPECT_LT(after, before + kBytes / static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) / 2);
}

TEST(ProgramStarterTest, ProgramsHaveItsPriority) {
  const auto starter = ProgramStarter::Make(3);
  ASSERT_TRUE(starter);
  const auto result = RunProgram({.argv = {"/usr/bin/nice"}, .starter = starter->get()});
  ASSERT_TRUE(result);
  EXPECT_EQ(std::stoi(result->output), std::min(::getpriority(PRIO_PROCESS, 0) + 3, 19));
}

TEST(ProgramStarterTest, TheHostStartsProgramsItselfIfTheStarterIsLost) {
  const auto starter = ProgramStarter::Make(0);
  ASSERT_TRUE(starter);
  ASSERT_EQ(::kill(std::stoi(FirstChild()), SIGKILL), 0);
  for (int i = 0; i < 2; ++i) {
    const auto result = RunProgram({.argv = {"/bin/echo", "1"}, .starter = starter->get()});
    ASSERT_TRUE(result) << result.error().message();
    EXPECT_EQ(result->output, "1\n");
  }
}

}  // namespace
}  // namespace caisson::jail
