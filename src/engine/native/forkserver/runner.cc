#include "engine/native/forkserver/runner.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <iterator>
#include <span>
#include <string_view>
#include <utility>

#include "engine/native/forkserver/environment.h"
#include "guest/runner/sources.h"
#include "jail/become.h"
#include "jail/walls.h"

namespace caisson::forkserver {
namespace {

// The numbers that bootstrap.py uses.
constexpr int kCode = 4;
constexpr int kCompiled = 5;
constexpr int kSize = 6;
// The number that judge.py uses. It is above the limit on open files, so it is not one of those
// that code may open.
constexpr int kJudge = jail::kSuccessor - 1;
constexpr int kAboveAll = 64;
constexpr int kSeals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
// Memory that the interpreter's start needs now and then, which its limit must allow.
constexpr std::uint64_t kSlackBytes = 16 << 20;

Result<UniqueFd> MakeFile(std::string_view bytes) {
  UniqueFd file(::memfd_create("caisson-runner", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file.is_open() ||
      ::write(file.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
    return Error::FromErrno(errno, "make a file for the runner");
  }
  return file;
}

std::vector<std::string> Arguments(const Interpreter& interpreter, const char* step) {
  std::string path;
  for (const std::string& module : interpreter.modules) path += (path.empty() ? "" : ":") + module;
  // Isolated, without site, without writing bytecode: only these arguments decide what it runs.
  return {interpreter.program,      "-I", "-S", "-B", "-X", "utf8", "-c",
          caisson_runner_bootstrap, step, path};
}

struct Placed {
  int fd;
  int number;
  int flags = 0;
};

// Moves all at once: the new number of one may be the current number of another.
Result<void> Place(std::span<const Placed> descriptors) {
  std::vector<int> high;
  for (const Placed& one : descriptors) {
    high.push_back(::fcntl(one.fd, F_DUPFD_CLOEXEC, kAboveAll));
    if (high.back() < 0) return Error::FromErrno(errno, "place a descriptor");
  }
  for (std::size_t i = 0; i < high.size(); ++i) {
    if (::dup3(high[i], descriptors[i].number, descriptors[i].flags) < 0) {
      return Error::FromErrno(errno, "place a descriptor");
    }
  }
  return {};
}

Result<void> Close(unsigned first, unsigned last) {
  if (::close_range(first, last, 0) != 0) return Error::FromErrno(errno, "close descriptors");
  return {};
}

// The variables of every cell; and one heap for all threads, as in fork_server_main.cc.
std::vector<std::pair<std::string, std::string>> Environment() {
  std::vector<std::pair<std::string, std::string>> all(std::begin(kEnvironment),
                                                       std::end(kEnvironment));
  all.emplace_back("MALLOC_ARENA_MAX", "1");
  return all;
}

struct Trial {
  const jail::Enclosure& enclosure;
  int program;
  int sources;
  int compiled;
  int answer;
};

// Similar to a cell: without privilege, and with only the given descriptors open.
Result<void> BecomeTrial(const Trial& trial, std::vector<std::string> argv) {
  TRY_ASSIGN(const UniqueFd size, trial.enclosure.OpenOwn("statm"));
  TRY(jail::ForbidNewPrivileges());
  TRY(jail::DropCapabilities());
  const Placed placed[] = {{trial.answer, STDOUT_FILENO},
                           {trial.sources, kCode},
                           {trial.compiled, kCompiled},
                           {size.get(), kSize},
                           {trial.program, jail::kSuccessor, O_CLOEXEC}};
  TRY(Place(placed));
  TRY(Close(STDERR_FILENO + 1, kCode - 1));
  TRY(Close(kSize + 1, jail::kSuccessor - 1));
  return jail::Become({.argv = std::move(argv), .environment = Environment()});
}

// Returns everything that is written to `pipe`, which is little.
std::string ReadAll(const UniqueFd& pipe) {
  std::string text;
  std::array<char, 256> part{};
  while (true) {
    const ssize_t got = ::read(pipe.get(), part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
}

// Returns the address space of the interpreter in pages, as it reports itself.
Result<std::uint64_t> Await(pid_t pid, const UniqueFd& answer, const std::string& program) {
  const std::string text = ReadAll(answer);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  std::uint64_t pages = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), pages);
  if (status != 0 || parsed.ec != std::errc() || pages == 0) {
    return Error(ErrorCode::kFailedPrecondition, program + " did not come up");
  }
  return pages;
}

}  // namespace

Result<Runner> Runner::Prepare(const jail::Enclosure& enclosure, const Interpreter& interpreter) {
  UniqueFd program(::open(interpreter.program.c_str(), O_PATH | O_CLOEXEC));
  if (!program.is_open()) return Error::FromErrno(errno, "open " + interpreter.program);
  TRY_ASSIGN(const UniqueFd sources, MakeFile({caisson_runner_sources, caisson_runner_size}));
  TRY_ASSIGN(UniqueFd compiled, MakeFile({}));
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return Error::FromErrno(errno, "pipe");
  const UniqueFd answer(ends[0]);
  UniqueFd answer_end(ends[1]);

  const pid_t pid = ::fork();
  if (pid < 0) return Error::FromErrno(errno, "fork");
  if (pid == 0) {
    const Result<void> failed = BecomeTrial({.enclosure = enclosure,
                                             .program = program.get(),
                                             .sources = sources.get(),
                                             .compiled = compiled.get(),
                                             .answer = answer_end.get()},
                                            Arguments(interpreter, "compile"));
    ::dprintf(STDERR_FILENO, "%s\n", failed.error().message().c_str());
    ::_exit(EXIT_FAILURE);
  }
  answer_end = UniqueFd();
  TRY_ASSIGN(const std::uint64_t pages, Await(pid, answer, interpreter.program));
  // All cells read it, so none may change it.
  if (::fcntl(compiled.get(), F_ADD_SEALS, kSeals) != 0) {
    return Error::FromErrno(errno, "seal the runner");
  }
  Runner runner(std::move(program), std::move(compiled), Arguments(interpreter, "run"));
  runner.address_space_bytes_ =
      pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) + kSlackBytes;
  return runner;
}

Result<void> Runner::PlaceDescriptors(int socket, int number, int judge) const {
  const Placed placed[] = {{socket, number},
                           {code_.get(), kCode},
                           {judge, kJudge},
                           {program_.get(), jail::kSuccessor, O_CLOEXEC}};
  TRY(Place(placed));
  TRY(Close(kCode + 1, kJudge - 1));
  return Close(jail::kSuccessor + 1, ~0U);
}

Error Runner::Become() const {
  return jail::Become({.argv = argv_, .environment = Environment()});
}

}  // namespace caisson::forkserver
