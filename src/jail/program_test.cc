#include "jail/program.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

namespace caisson::jail {
namespace {

using std::chrono::milliseconds;

constexpr int kDeadlineMs = 30'000;

bool IsGone(const std::string& pid) {
  return ::kill(std::stoi(pid), 0) != 0 && errno == ESRCH;
}

std::size_t OpenDescriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

bool BecomesReadable(const UniqueFd& fd) {
  pollfd ready{.fd = fd.get(), .events = POLLIN, .revents = 0};
  return ::poll(&ready, 1, kDeadlineMs) == 1;
}

// Returns the first output of the program.
std::string Read(const UniqueFd& pipe) {
  std::array<char, 256> text{};
  if (!BecomesReadable(pipe)) return "";
  const ssize_t got = ::read(pipe.get(), text.data(), text.size());
  return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
}

TEST(ProgramTest, GivesOutputAndStatus) {
  const auto result = RunProgram({.argv = {"/bin/sh", "-c", "echo out; exit 3"}});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->status, 3);
  EXPECT_EQ(result->output, "out\n");
}

TEST(ProgramTest, GivesItsInputToTheProgram) {
  const std::string much(300'000, 'x');  // More than a pipe holds.
  const auto result = RunProgram({.argv = {"/bin/cat"}, .input = much});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->output, much);
}

// I1.
TEST(ProgramTest, TheEnvironmentIsEmpty) {
  const auto result = RunProgram({.argv = {"/usr/bin/env"}});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->output, "");
}

// I1.
TEST(ProgramTest, TheEnvironmentIsTheOneItIsGiven) {
  CallerHost host({});
  const auto environment =
      ChildEnvironment::Build(CallerContext(host), {.own = {{"B", "2"}, {"A", "1"}}});
  const auto result = RunProgram({.argv = {"/usr/bin/env"}, .environment = *environment});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->output, "A=1\nB=2\n");
}

TEST(ProgramTest, ANameIsLookedForInItsOwnPath) {
  EXPECT_TRUE(RunProgram({.argv = {"true"}}));
  CallerHost host({});
  const auto environment =
      ChildEnvironment::Build(CallerContext(host), {.own = {{"PATH", ":/nowhere:"}}});
  const auto result = RunProgram({.argv = {"true"}, .environment = *environment});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), ErrorCode::kNotFound);
}

TEST(ProgramTest, StartsWhereItIsTold) {
  const auto result = RunProgram({.argv = {"/bin/pwd"}, .directory = "/usr"});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->output, "/usr\n");
  const auto missing = RunProgram({.argv = {"/bin/pwd"}, .directory = "/no/such"});
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message().find("directory"), std::string::npos);
}

TEST(ProgramTest, ItHoldsNothingOfOurs) {
  const auto result = RunProgram({.argv = {"/bin/ls", "/proc/self/fd"}});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->output, "0\n1\n2\n3\n");  // The last one is the directory that it reads.
}

TEST(ProgramTest, ProcessesLeftBehindAreKilled) {
  const auto background = RunProgram({.argv = {"/bin/sh", "-c", "sleep 1000 & echo $!"}});
  ASSERT_TRUE(background) << background.error().message();
  EXPECT_TRUE(IsGone(background->output));
  // A daemon in another session, with another parent, that ignores signals it can ignore.
  const auto daemon = RunProgram({.argv = {"/bin/sh", "-c",
                                           "d=$(setsid sh -c 'trap \"\" TERM HUP INT; echo $$; "
                                           "exec >/dev/null; (sleep 1000; :)' &)\n"
                                           "echo $d; exit 4"}});
  ASSERT_TRUE(daemon) << daemon.error().message();
  EXPECT_EQ(daemon->status, 4);
  EXPECT_TRUE(IsGone(daemon->output));
}

TEST(ProgramTest, KillTakesDaemonsAlong) {
  auto program = Program::Start(
      {.argv = {"/bin/sh", "-c", "setsid sh -c 'echo $$; exec sleep 1000' & sleep 1000"}});
  ASSERT_TRUE(program);
  const std::string daemon = Read(program->output());
  ASSERT_FALSE(daemon.empty());
  EXPECT_FALSE(IsGone(daemon));
  program->Kill();
  ASSERT_TRUE(BecomesReadable(program->ended()));
  const auto exit = program->Wait();
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->signal, SIGKILL);
  EXPECT_TRUE(IsGone(daemon));
}

TEST(ProgramTest, DroppingOneEndsIt) {
  const std::size_t before = OpenDescriptors();
  std::string pid;
  {
    auto program = Program::Start(
        {.argv = {"/bin/sh", "-c", "echo $$; exec sleep 1000"}, .errors = ErrorOutput::kPipe});
    ASSERT_TRUE(program);
    pid = Read(program->output());
    ASSERT_FALSE(pid.empty());
  }
  EXPECT_TRUE(IsGone(pid));
  EXPECT_EQ(OpenDescriptors(), before);
}

TEST(ProgramTest, ItDiesWithUs) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const UniqueFd told(ends[0]);
  UniqueFd tell(ends[1]);
  const pid_t host = ::fork();
  ASSERT_GE(host, 0);
  if (host == 0) {
    auto program = Program::Start({.argv = {"/bin/sh", "-c", "echo $$; exec sleep 1000"}});
    const std::string pid = program ? Read(program->output()) : "";
    (void)!::write(tell.get(), pid.data(), pid.size());
    for (;;) ::pause();
  }
  const std::string pid = Read(told);
  ASSERT_FALSE(pid.empty());
  const UniqueFd program(static_cast<int>(::syscall(SYS_pidfd_open, std::stoi(pid), 0)));
  ASSERT_TRUE(program.is_open());
  ::kill(host, SIGKILL);
  EXPECT_TRUE(BecomesReadable(program));
  ::waitpid(host, nullptr, 0);
}

TEST(ProgramTest, AnErrorOutputOfItsOwn) {
  auto program =
      Program::Start({.argv = {"/bin/sh", "-c", "echo oops >&2"}, .errors = ErrorOutput::kPipe});
  ASSERT_TRUE(program);
  EXPECT_EQ(Read(program->log()), "oops\n");
}

TEST(ProgramTest, TellsTheSignalThatEndedIt) {
  const auto result = RunProgram({.argv = {"/bin/sh", "-c", "kill -9 $$"}});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->status, 128 + 9);
}

TEST(ProgramTest, EndsAProgramThatDoesNotEnd) {
  const auto result = RunProgram({.argv = {"/bin/cat", "/dev/zero"}});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), ErrorCode::kResourceExhausted);
  const auto silent =
      RunProgram({.argv = {"/bin/sh", "-c", "while :; do :; done"}, .within = milliseconds(50)});
  ASSERT_FALSE(silent);
  EXPECT_EQ(silent.error().code(), ErrorCode::kDeadlineExceeded);
}

TEST(ProgramTest, AMissingProgramIsNamed) {
  const auto result = RunProgram({.argv = {"/no/such/program"}});
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message().find("/no/such/program"), std::string::npos);
}

}  // namespace
}  // namespace caisson::jail
