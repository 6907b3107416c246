#include "engine/native/forkserver/foreign_judge.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "guest/native/judge.h"
#include "jail/walls.h"

namespace caisson::forkserver {
namespace {

// A tree takes some hundred bytes for each byte of code.
constexpr std::uint64_t kMemoryBytes = 512 << 20;
// For all runs of a session. One takes a few milliseconds.
constexpr std::uint64_t kCpuSeconds = 60;

}  // namespace

Result<void> ForeignJudge::Boot() {
  if (caisson_judge_boot(PYTHON_LIB_DIR) == 0) return {};
  return Error(ErrorCode::kFailedPrecondition,
               "the judge of foreign interpreters did not start: it needs " PYTHON_LIB_DIR);
}

Result<ForeignJudge> ForeignJudge::Prepare(const jail::Enclosure& enclosure) {
  TRY_ASSIGN(jail::Filter filter, jail::Filter::Compile(jail::InterpreterSyscalls({})));
  TRY_ASSIGN(const std::uint64_t bytes, enclosure.AddressSpace());
  return ForeignJudge(std::move(filter), bytes);
}

Result<UniqueFd> ForeignJudge::Start(const jail::Enclosure& enclosure) const {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return Error::FromErrno(errno, "socket for a judge");
  }
  UniqueFd ours(ends[0]);
  const UniqueFd its(ends[1]);
  const pid_t parent = ::getpid();
  // Without a signal at its end: code that waits for its own processes does not see it.
  const long pid = ::syscall(SYS_clone, 0, nullptr, nullptr, nullptr, 0);
  if (pid < 0) return Error::FromErrno(errno, "fork a judge");
  if (pid == 0) Live(enclosure, its.get(), parent);
  return ours;
}

void ForeignJudge::Live(const jail::Enclosure& enclosure, int socket, int parent) const {
  const bool dies = ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 && ::getppid() == parent;
  if (!dies || ::dup2(socket, STDIN_FILENO) < 0 || !Confine(enclosure)) ::_exit(EXIT_FAILURE);
  caisson_judge(STDIN_FILENO);
  ::_exit(EXIT_SUCCESS);
}

Result<void> ForeignJudge::Confine(const jail::Enclosure& enclosure) const {
  TRY(jail::SetProcessName("caisson-judge"));
  TRY(enclosure.Confine({.paths = {}, .tasks = 1}));
  if (::close_range(STDIN_FILENO + 1, ~0U, 0) != 0) {
    return Error::FromErrno(errno, "close descriptors");
  }
  TRY(jail::LowerLimit({RLIMIT_AS, address_space_bytes_ + kMemoryBytes}));
  TRY(jail::LowerLimit({RLIMIT_CPU, kCpuSeconds}));
  TRY(jail::LowerLimit({RLIMIT_NOFILE, 1}));
  TRY(jail::LowerLimit({RLIMIT_FSIZE, 0}));
  return filter_.Load();
}

}  // namespace caisson::forkserver
