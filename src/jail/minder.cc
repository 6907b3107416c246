#include "jail/minder.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "jail/signals.h"

// Raw system calls only, as in newborn.cc.
namespace caisson::jail {
namespace {

// The minder's own numbers for the descriptors it was given.
constexpr int kControl = 3;
constexpr int kInput = 4;
constexpr int kOutput = 5;
constexpr int kErrors = 6;

// Returns whether /proc shows our own pid namespace. Otherwise its numbers would name other
// processes.
bool ProcIsOurs() {
  std::array<char, 24> text{};
  const long size = ::syscall(SYS_readlinkat, AT_FDCWD, "/proc/self", text.data(), text.size() - 1);
  long pid = 0;
  for (long i = 0; i < size; ++i) pid = pid * 10 + (text[static_cast<std::size_t>(i)] - '0');
  return size > 0 && pid == ::syscall(SYS_getpid);
}

}  // namespace

void Minder::Run() {
  LeaveGroup();
  PlaceDescriptors();
  ::syscall(SYS_prctl, PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  Start();
  const ProgramEnd end = AwaitEnd();
  KillRest();
  ::syscall(SYS_write, kControl, &end, sizeof end);
  ::syscall(SYS_exit_group, 0);
  __builtin_unreachable();
}

// The signals of a terminal are for the host, which then decides.
void Minder::LeaveGroup() const {
  if (plan_.stays_in_session) {
    ::syscall(SYS_setpgid, 0, 0);
  } else {
    ::syscall(SYS_setsid);
  }
}

// The minder must hold no other descriptors: a copy of another minder's control socket would
// prevent that minder from noticing that we died.
void Minder::PlaceDescriptors() const {
  const std::array<std::array<int, 2>, 4> places = {{{plan_.control, kControl},
                                                     {plan_.input, kInput},
                                                     {plan_.output, kOutput},
                                                     {plan_.errors, kErrors}}};
  for (const auto& [from, to] : places) {
    if (::syscall(SYS_dup3, from, to, O_CLOEXEC) < 0) Fail(ProgramStep::kPrepare);
  }
  ::syscall(SYS_close_range, kErrors + 1, ~0U, 0);
}

void Minder::Start() {
  const long pid = ::syscall(SYS_clone, CLONE_PIDFD | SIGCHLD, nullptr, &ended_, nullptr, 0);
  if (pid == 0) Become();
  if (pid < 0) Fail(ProgramStep::kPrepare);
  program_ = static_cast<int>(pid);
  // From here on, the ends of the program's pipes belong to the program, and so does our stdio.
  for (const int fd : {0, 1, 2, kInput, kOutput, kErrors}) ::syscall(SYS_close, fd);
}

// Runs in the child, up to the exec.
void Minder::Become() const {
  LeaveGroup();
  // If the minder is killed, at least the program itself dies too.
  ::syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (ResetSignals() < 0) Fail(ProgramStep::kPrepare);
  for (const auto& [from, to] : {std::array{kInput, 0}, {kOutput, 1}, {kErrors, 2}}) {
    if (::syscall(SYS_dup3, from, to, 0) < 0) Fail(ProgramStep::kPrepare);
  }
  ::syscall(SYS_close_range, kControl + 1, ~0U, 0);  // The exec closes kControl itself.
  if (plan_.directory != nullptr && ::syscall(SYS_chdir, plan_.directory) < 0) {
    Fail(ProgramStep::kDirectory);
  }
  ::syscall(SYS_execve, plan_.path, plan_.argv, plan_.environment);
  Fail(ProgramStep::kExec);
}

void Minder::Fail(ProgramStep step) const {
  const ProgramEnd end{.error_number = errno, .step = step};
  ::syscall(SYS_write, kControl, &end, sizeof end);
  ::syscall(SYS_exit_group, 127);
  __builtin_unreachable();
}

ProgramEnd Minder::AwaitEnd() const {
  std::array<pollfd, 2> ready = {{{.fd = ended_, .events = POLLIN, .revents = 0},
                                  {.fd = kControl, .events = POLLIN, .revents = 0}}};
  while (::syscall(SYS_ppoll, ready.data(), ready.size(), nullptr, nullptr, 0) < 0) {
  }
  // Nothing is ever sent on the control socket: if it is readable, it was closed.
  if (ready[0].revents == 0) ::syscall(SYS_pidfd_send_signal, ended_, SIGKILL, nullptr, 0);
  siginfo_t info{};
  while (::syscall(SYS_waitid, P_PIDFD, ended_, &info, WEXITED | __WALL, nullptr) < 0) {
  }
  return info.si_code == CLD_EXITED ? ProgramEnd{.status = info.si_status}
                                    : ProgramEnd{.signal = info.si_status};
}

void Minder::KillRest() const {
  for (;;) {
    const bool listed = ProcIsOurs() && KillChildren();
    // Without a list we only know the processes that stayed in the program's group.
    if (!listed) ::syscall(SYS_kill, -program_, SIGKILL);
    siginfo_t info{};
    // All our current children were killed, so one of them ends. Its orphans come next.
    const long waited = ::syscall(SYS_waitid, listed ? P_ALL : P_PGID, listed ? 0 : program_, &info,
                                  WEXITED | __WALL, nullptr);
    if (waited < 0 && errno == ECHILD) return;
  }
}

// Kills as many of our children as one page of text lists. Returns false if there is no such list.
bool Minder::KillChildren() const {
  const long list =
      ::syscall(SYS_openat, AT_FDCWD, "/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
  if (list < 0) return false;
  std::array<char, 4096> text{};
  const long size = ::syscall(SYS_read, list, text.data(), text.size());
  ::syscall(SYS_close, list);
  int pid = 0;
  for (long i = 0; i < size; ++i) {
    const char c = text[static_cast<std::size_t>(i)];
    if (c >= '0' && c <= '9') {
      pid = pid * 10 + (c - '0');
      continue;
    }
    // Only text that ends in a space is a whole number. The process is our child and not reaped, so
    // the pid still names it.
    if (pid > 0) ::syscall(SYS_kill, pid, SIGKILL);
    pid = 0;
  }
  return size >= 0;
}

}  // namespace caisson::jail
