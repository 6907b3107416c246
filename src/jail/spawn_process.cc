#include "jail/spawn_process.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <fstream>
#include <utility>

#include "jail/kernel_identity.h"
#include "jail/newborn.h"
#include "jail/signals.h"

namespace caisson::jail {
namespace {

constexpr std::uint64_t kNamespaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET |
                                      CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
constexpr int kStartDeadlineMs = 10'000;

Result<UniqueFd> DuplicateAbove(int fd, int lowest) {
  UniqueFd copy(::fcntl(fd, F_DUPFD_CLOEXEC, lowest));
  if (!copy.is_open()) return Error::FromErrno(errno, "duplicate a descriptor for the child");
  return copy;
}

Result<void> CheckPassable(const UniqueFd& fd) {
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) return Error::FromErrno(errno, "descriptor for the child");
  if (S_ISDIR(info.st_mode)) {
    return Error(ErrorCode::kInvalidArgument,
                 "a directory may not be passed into a jail: it leads back out");
  }
  return {};
}

// Enter() forbids growing files, so writing the first line into a file would kill the child.
Result<void> CheckLog(const UniqueFd& fd) {
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) return Error::FromErrno(errno, "log of the child");
  if (S_ISREG(info.st_mode) || S_ISDIR(info.st_mode)) {
    return Error(ErrorCode::kInvalidArgument, "the log of a jailed program must be a pipe");
  }
  return {};
}

Error CloneError(int error_number, Tier tier) {
  Error error = Error::FromErrno(error_number, "create the child process");
  if (tier != Tier::kNamespace) return error;
  return Error(
      ErrorCode::kFailedPrecondition,
      "tier namespace is not available: user namespaces are refused here: " + error.message() +
          "; `caisson doctor` names the setting, or choose --tier landlock");
}

}  // namespace

// One start: the parent's part.
class Starter {
 public:
  explicit Starter(const SpawnSpec& spec) : spec_(spec) {}

  Result<Child> Start() {
    TRY(Prepare());
    TRY_ASSIGN(Child child, Clone());
    if (spec_.tier == Tier::kNamespace) TRY(WriteIdMaps(child.pid(), plan_.ids));
    if (spec_.bond == Bond::kDiesWithUs) PreferAsOomVictim(child.pid());
    TRY(Release(child));
    return child;
  }

 private:
  Result<void> Prepare() {
    if (spec_.program == nullptr || !spec_.program->is_open() || spec_.argv.empty()) {
      return Error(ErrorCode::kInvalidArgument, "spawn needs a program and argv[0]");
    }
    if (spec_.bond == Bond::kOutlivesUs && spec_.tier == Tier::kNamespace) {
      return Error(ErrorCode::kInvalidArgument, "a process in namespaces cannot outlive us");
    }
    plan_.tier = spec_.tier;
    plan_.outlives = spec_.bond == Bond::kOutlivesUs;
    plan_.ids = ChooseIds();
    for (const std::string& argument : spec_.argv) {
      plan_.argv.push_back(const_cast<char*>(argument.c_str()));  // execve takes char*, reads only.
    }
    plan_.argv.push_back(nullptr);
    if (spec_.cpu) {
      if (*spec_.cpu < 0 || *spec_.cpu >= CPU_SETSIZE) {
        return Error(ErrorCode::kInvalidArgument, "no such core: " + std::to_string(*spec_.cpu));
      }
      plan_.pin = true;
      CPU_SET(static_cast<std::size_t>(*spec_.cpu), &plan_.cpus);
    }
    return PrepareDescriptors();
  }

  Result<int> Keep(int fd) {
    // Above the passed descriptors, then the program and the control socket (PlaceDescriptors).
    const int lowest = kFirstPassed + static_cast<int>(spec_.descriptors.size()) + 2;
    TRY_ASSIGN(UniqueFd copy, DuplicateAbove(fd, lowest));
    kept_.push_back(std::move(copy));
    return kept_.back().get();
  }

  Result<void> PrepareDescriptors() {
    std::array<int, 2> pair{};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()) != 0) {
      return Error::FromErrno(errno, "socket pair for the child");
    }
    control_ = UniqueFd(pair[0]);
    UniqueFd child_end(pair[1]);
    UniqueFd self(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
    if (!self.is_open()) return Error::FromErrno(errno, "pidfd of this process");
    UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    if (!null.is_open()) return Error::FromErrno(errno, "open /dev/null");
    TRY_ASSIGN(plan_.control, Keep(child_end.get()));
    TRY_ASSIGN(plan_.parent, Keep(self.get()));
    TRY_ASSIGN(plan_.program, Keep(spec_.program->get()));
    TRY_ASSIGN(plan_.null, Keep(null.get()));
    if (spec_.log != nullptr) TRY(CheckLog(*spec_.log));
    TRY_ASSIGN(plan_.log, Keep(spec_.log != nullptr ? spec_.log->get() : null.get()));
    for (const UniqueFd* fd : spec_.descriptors) {
      TRY(CheckPassable(*fd));
      TRY_ASSIGN(int source, Keep(fd->get()));
      plan_.passed.push_back(source);
    }
    return {};
  }

  Result<Child> Clone() {
    // Uses clone, not clone3: container profiles refuse clone3 because they cannot see its flags.
    const std::uint64_t flags =
        CLONE_PIDFD | SIGCHLD | (spec_.tier == Tier::kNamespace ? kNamespaces : 0);
    int pidfd = -1;
    long pid = 0;
    int error_number = 0;
    {
      SignalsBlocked blocked;
      pid = ::syscall(SYS_clone, flags, nullptr, &pidfd, nullptr, 0);
      if (pid == 0) Newborn(plan_).Run();
      error_number = errno;
    }
    if (pid < 0) return CloneError(error_number, spec_.tier);
    // Closes our copies; the child has its own. Only then does its exec end our read.
    kept_.clear();
    return Child(static_cast<pid_t>(pid), UniqueFd(pidfd));
  }

  // If memory runs out, the kernel should kill a worker rather than the host. Best effort, not a
  // wall.
  static void PreferAsOomVictim(pid_t pid) {
    std::ofstream("/proc/" + std::to_string(pid) + "/oom_score_adj") << 1000;
  }

  // Releases the child and waits until it either runs the program or reports what failed.
  Result<void> Release(Child& child) {
    if (::send(control_.get(), "g", 1, MSG_NOSIGNAL) != 1) {
      return Error::FromErrno(errno, "release the child");
    }
    bool executing = false;
    for (;;) {
      TRY(AwaitReadable());
      Failure failure{};
      const ssize_t got = ::recv(control_.get(), &failure, sizeof failure, MSG_DONTWAIT);
      if (got < 0) return Error::FromErrno(errno, "hear from the child");
      if (got == 0 && executing) return {};
      if (got != static_cast<ssize_t>(sizeof failure)) return DiedEarly(child);
      if (failure.error_number != 0) {
        return Error::FromErrno(failure.error_number, ToString(failure.step))
            .Context("start the jailed program");
      }
      executing = true;
    }
  }

  Result<void> AwaitReadable() const {
    pollfd ready{.fd = control_.get(), .events = POLLIN, .revents = 0};
    int polled = 0;
    do {
      polled = ::poll(&ready, 1, kStartDeadlineMs);
    } while (polled < 0 && errno == EINTR);
    if (polled < 0) return Error::FromErrno(errno, "wait for the child");
    if (polled == 0) return Error(ErrorCode::kDeadlineExceeded, "the child did not start in time");
    return {};
  }

  static Error DiedEarly(Child& child) {
    Result<Exit> exit = child.Wait();
    return Error(ErrorCode::kUnavailable,
                 "the child died before it ran the program" +
                     (exit ? ", signal " + std::to_string(exit->signal) : std::string()));
  }

  const SpawnSpec& spec_;
  Plan plan_;
  UniqueFd control_;
  std::vector<UniqueFd> kept_;
};

Result<Child> Spawn(const SpawnSpec& spec) {
  return Starter(spec).Start();
}

bool Exit::DeniedSyscall() const {
  return signal == SIGSYS;
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      pidfd_(std::move(other.pidfd_)),
      exit_(std::exchange(other.exit_, std::nullopt)) {}

Child& Child::operator=(Child&& other) noexcept {
  if (this != &other) {
    Destroy();
    pid_ = std::exchange(other.pid_, -1);
    pidfd_ = std::move(other.pidfd_);
    exit_ = std::exchange(other.exit_, std::nullopt);
  }
  return *this;
}

Child::~Child() {
  Destroy();
}

void Child::Destroy() {
  if (!pidfd_.is_open() || exit_) return;
  Kill();
  static_cast<void>(Wait());
}

bool Child::IsStopped() const {
  siginfo_t info{};
  // WNOWAIT leaves the state unchanged; otherwise a stop would be reported only once.
  return !exit_ &&
         ::waitid(P_PIDFD, static_cast<id_t>(pidfd_.get()), &info, WSTOPPED | WNOHANG | WNOWAIT) ==
             0 &&
         info.si_pid == pid_ && info.si_code == CLD_STOPPED;
}

void Child::Kill() const {
  // Uses the pidfd: the pid could belong to another process by now.
  ::syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGKILL, nullptr, 0);
}

Result<Exit> Child::Wait() {
  if (exit_) return *exit_;
  siginfo_t info{};
  int result = 0;
  do {
    // An event loop that watches the pidfd makes it non-blocking, and waitid then does not wait.
    pollfd ended{.fd = pidfd_.get(), .events = POLLIN, .revents = 0};
    ::poll(&ended, 1, -1);
    result = ::waitid(P_PIDFD, static_cast<id_t>(pidfd_.get()), &info, WEXITED | __WALL);
  } while (result != 0 && (errno == EINTR || errno == EAGAIN));
  if (result != 0) return Error::FromErrno(errno, "wait for the child");
  exit_ = info.si_code == CLD_EXITED ? Exit{.status = info.si_status, .signal = 0}
                                     : Exit{.status = 0, .signal = info.si_status};
  return *exit_;
}

Result<std::optional<Exit>> Child::WaitFor(std::chrono::milliseconds timeout) {
  if (exit_) return exit_;
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd ended{.fd = pidfd_.get(), .events = POLLIN, .revents = 0};
    const int polled = ::poll(&ended, 1, left.count() > 0 ? static_cast<int>(left.count()) : 0);
    if (polled < 0 && errno == EINTR) continue;
    if (polled < 0) return Error::FromErrno(errno, "poll the child");
    if (polled == 0) return std::optional<Exit>();
    TRY_ASSIGN(Exit how, Wait());
    return std::optional<Exit>(how);
  }
}

}  // namespace caisson::jail
