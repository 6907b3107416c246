#include "jail/program.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include "jail/minder.h"

namespace caisson::jail {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxOutputBytes = 1 << 20;
constexpr int kSignalBase = 128;
constexpr std::string_view kUsualPath = "/usr/local/bin:/usr/bin:/bin";

// Makes a file in memory that contains `text`. Unlike a pipe it takes any length at once.
Result<UniqueFd> InputFile(const std::string& text) {
  UniqueFd file(::memfd_create("input", MFD_CLOEXEC));
  if (!file.is_open()) return Error::FromErrno(errno, "file for stdin");
  const ssize_t written = ::pwrite(file.get(), text.data(), text.size(), 0);
  if (written != static_cast<ssize_t>(text.size())) return Error::FromErrno(errno, "fill stdin");
  return file;
}

struct Pipe {
  UniqueFd read_end;
  UniqueFd write_end;
};

Result<Pipe> MakePipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return Error::FromErrno(errno, "pipe for a program");
  Pipe pipe{.read_end = UniqueFd(ends[0]), .write_end = UniqueFd(ends[1])};
  if (::fcntl(pipe.read_end.get(), F_SETFL, O_NONBLOCK) != 0) {
    return Error::FromErrno(errno, "pipe for a program");
  }
  return pipe;
}

struct Input {
  UniqueFd childs;
  UniqueFd ours{};  // The write end of a pipe.
};

Result<Input> MakeInput(const ProgramSpec& spec) {
  if (spec.input_from == InputFrom::kText) {
    TRY_ASSIGN(UniqueFd file, InputFile(spec.input));
    return Input{.childs = std::move(file)};
  }
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return Error::FromErrno(errno, "pipe for a program");
  Input input{.childs = UniqueFd(ends[0]), .ours = UniqueFd(ends[1])};
  if (::fcntl(input.ours.get(), F_SETFL, O_NONBLOCK) != 0) {
    return Error::FromErrno(errno, "pipe for a program");
  }
  return input;
}

Result<std::string> Locate(const ProgramSpec& spec) {
  const std::string& name = spec.argv[0];
  if (name.find('/') != name.npos) return name;
  std::string_view rest = kUsualPath;
  for (const std::string& entry : spec.environment.entries()) {
    if (entry.starts_with("PATH=")) rest = std::string_view(entry).substr(5);
  }
  while (!rest.empty() && !name.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    const std::string path = std::string(rest.substr(0, end)) + "/" + name;
    // An empty part of PATH would mean the current directory.
    if (end != 0 && ::access(path.c_str(), X_OK) == 0) return path;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return Error(ErrorCode::kNotFound, "there is no program \"" + name + "\" in its PATH");
}

Result<void> CheckStrings(const ProgramSpec& spec) {
  if (spec.argv.empty()) return Error(ErrorCode::kInvalidArgument, "a program needs argv[0]");
  for (const std::string& argument : spec.argv) {
    if (argument.find('\0') != argument.npos) {
      return Error(ErrorCode::kInvalidArgument, "an argument has a NUL in it");
    }
  }
  return {};
}

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (const std::string& text : strings) {
    pointers.push_back(const_cast<char*>(text.c_str()));  // execve takes char*, reads only.
  }
  pointers.push_back(nullptr);
  return pointers;
}

Result<UniqueFd> OutOfTheWay(int fd) {
  UniqueFd copy(::fcntl(fd, F_DUPFD_CLOEXEC, MinderPlan::kFirstFree));
  if (!copy.is_open()) return Error::FromErrno(errno, "descriptor for a program");
  return copy;
}

std::string_view Doing(ProgramStep step) {
  switch (step) {
    case ProgramStep::kPrepare:
      return "prepare";
    case ProgramStep::kDirectory:
      return "enter the directory of";
    case ProgramStep::kExec:
      return "start";
  }
  return "start";
}

// Waits until `fd` is readable (or closed).
Result<void> AwaitReadable(const UniqueFd& fd, Clock::time_point deadline) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
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
      return Error(ErrorCode::kResourceExhausted, "its output is too long");
    }
  }
}

Result<ProgramResult> Finish(Program& program, Clock::time_point deadline) {
  TRY_ASSIGN(std::string output, ReadOutput(program.output(), deadline));
  TRY(AwaitReadable(program.ended(), deadline));
  TRY_ASSIGN(const Exit exit, program.Wait());
  return ProgramResult{.status = exit.signal != 0 ? kSignalBase + exit.signal : exit.status,
                       .output = std::move(output)};
}

}  // namespace

Program::Program(std::string name, Child minder, UniqueFd control, UniqueFd input, UniqueFd output,
                 UniqueFd log)
    : name_(std::move(name)),
      minder_(std::move(minder)),
      control_(std::move(control)),
      input_(std::move(input)),
      output_(std::move(output)),
      log_(std::move(log)) {}

Program::~Program() {
  if (!control_.is_open()) return;  // Moved from.
  Kill();
  static_cast<void>(minder_.Wait());
}

Result<Program> Program::Start(const ProgramSpec& spec) {
  TRY(CheckStrings(spec));
  TRY_ASSIGN(const std::string path, Locate(spec));
  TRY_ASSIGN(Input input, MakeInput(spec));
  TRY_ASSIGN(Pipe output, MakePipe());
  Pipe log;
  if (spec.errors == ErrorOutput::kPipe) {
    TRY_ASSIGN(log, MakePipe());
  }
  std::array<int, 2> pair{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()) != 0) {
    return Error::FromErrno(errno, "socket pair for a program");
  }
  UniqueFd control(pair[0]);
  const UniqueFd minders_end(pair[1]);

  const int errors = spec.errors == ErrorOutput::kPipe ? log.write_end.get() : STDERR_FILENO;
  TRY_ASSIGN(const UniqueFd far_control, OutOfTheWay(minders_end.get()));
  TRY_ASSIGN(const UniqueFd far_input, OutOfTheWay(input.childs.get()));
  TRY_ASSIGN(const UniqueFd far_output, OutOfTheWay(output.write_end.get()));
  TRY_ASSIGN(const UniqueFd far_errors, OutOfTheWay(errors));
  const auto argv = Pointers(spec.argv);
  const auto environment = Pointers(spec.environment.entries());
  const MinderPlan plan{.control = far_control.get(),
                        .input = far_input.get(),
                        .output = far_output.get(),
                        .errors = far_errors.get(),
                        .path = path.c_str(),
                        .directory = spec.directory.empty() ? nullptr : spec.directory.c_str(),
                        .argv = argv.data(),
                        .environment = environment.data()};
  auto minder = spec.starter != nullptr ? spec.starter->Start(plan) : StartMinder(plan);
  if (!minder) return std::move(minder).error().Context("create a process for " + path);
  return Program(path, Child(minder->pid, std::move(minder->pidfd)), std::move(control),
                 std::move(input.ours), std::move(output.read_end), std::move(log.read_end));
}

void Program::Kill() const {
  ::shutdown(control_.get(), SHUT_WR);
}

Result<Exit> Program::Wait() {
  TRY_ASSIGN(const Exit minded, minder_.Wait());
  ProgramEnd end;
  const ssize_t got = ::recv(control_.get(), &end, sizeof end, MSG_DONTWAIT);
  if (got != static_cast<ssize_t>(sizeof end)) return minded;  // The minder itself was killed.
  if (end.error_number != 0) {
    return Error::FromErrno(end.error_number, std::string(Doing(end.step)) + " " + name_);
  }
  return Exit{.status = end.status, .signal = end.signal};
}

Result<ProgramResult> RunProgram(const ProgramSpec& spec) {
  const auto deadline = Clock::now() + spec.within;
  TRY_ASSIGN(Program program, Program::Start(spec));
  auto result = Finish(program, deadline);
  if (!result) return std::move(result).error().Context(spec.argv[0]);
  return result;
}

}  // namespace caisson::jail
