#include "jail/program.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <optional>
#include <utility>

#include "base/unique_fd.h"

namespace caisson::jail {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxOutputBytes = 1 << 20;
constexpr int kSignalBase = 128;

// Kills and reaps what it holds, unless Wait() already has.
class Running {
 public:
  explicit Running(pid_t pid) : pid_(pid) {}
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() {
    if (reaped_) return;
    ::kill(pid_, SIGKILL);
    static_cast<void>(Wait());
  }

  // Blocks until it has ended; exit status or 128 and the signal.
  int Wait() {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    reaped_ = true;
    return WIFEXITED(status) ? WEXITSTATUS(status) : kSignalBase + WTERMSIG(status);
  }

 private:
  pid_t pid_;
  bool reaped_ = false;
};

// A file in memory from which `text` is read: unlike a pipe it takes any length at once.
Result<UniqueFd> InputFile(const std::string& text) {
  UniqueFd file(::memfd_create("input", MFD_CLOEXEC));
  if (!file.is_open()) return Error::FromErrno(errno, "file for stdin");
  const ssize_t written = ::pwrite(file.get(), text.data(), text.size(), 0);
  if (written != static_cast<ssize_t>(text.size())) return Error::FromErrno(errno, "fill stdin");
  return file;
}

Result<pid_t> Start(const ProgramSpec& spec, int input, int output) {
  std::vector<char*> argv;
  for (const std::string& argument : spec.argv) {
    argv.push_back(const_cast<char*>(argument.c_str()));  // posix_spawn takes char*, reads only.
  }
  argv.push_back(nullptr);
  std::array<char*, 1> environment{nullptr};
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  pid_t pid = -1;
  const int failed =
      ::posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), environment.data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return Error::FromErrno(failed, "start " + spec.argv[0]);
  return pid;
}

// Waits until `fd` is readable (or closed).
Result<void> AwaitReadable(const UniqueFd& fd, Clock::time_point deadline) {
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return Error(ErrorCode::kDeadlineExceeded, "it did not end in time");
    pollfd ready{.fd = fd.get(), .events = POLLIN, .revents = 0};
    const int polled = ::poll(&ready, 1, static_cast<int>(left));
    if (polled > 0) return {};
    if (polled < 0 && errno != EINTR) return Error::FromErrno(errno, "wait for its output");
  }
}

Result<std::string> ReadOutput(const UniqueFd& pipe, Clock::time_point deadline) {
  std::string output;
  std::array<char, 4096> buffer{};
  for (;;) {
    TRY(AwaitReadable(pipe, deadline));
    const ssize_t got = ::read(pipe.get(), buffer.data(), buffer.size());
    if (got == 0) return output;
    if (got < 0 && errno != EINTR) return Error::FromErrno(errno, "read its output");
    if (got > 0) output.append(buffer.data(), static_cast<std::size_t>(got));
    if (output.size() > kMaxOutputBytes) {
      return Error(ErrorCode::kResourceExhausted, "it printed too much");
    }
  }
}

}  // namespace

Result<ProgramResult> RunProgram(const ProgramSpec& spec) {
  if (spec.argv.empty()) return Error(ErrorCode::kInvalidArgument, "a program needs argv[0]");
  const auto deadline = Clock::now() + spec.within;
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return Error::FromErrno(errno, "pipe for stdout");
  const UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  TRY_ASSIGN(const UniqueFd input, InputFile(spec.input));
  TRY_ASSIGN(const pid_t pid, Start(spec, input.get(), write_end.get()));
  Running child(pid);
  write_end = UniqueFd();  // Only the child's copy is left, so that its end is ours to see.
  const UniqueFd ended(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!ended.is_open()) return Error::FromErrno(errno, "pidfd of " + spec.argv[0]);
  auto output = ReadOutput(read_end, deadline);
  if (!output) return std::move(output).error().Context(spec.argv[0]);
  TRY(AwaitReadable(ended, deadline));
  return ProgramResult{.status = child.Wait(), .output = *std::move(output)};
}

}  // namespace caisson::jail
