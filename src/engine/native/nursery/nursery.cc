#include "engine/native/nursery/nursery.h"

#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>

#include "jail/become.h"

namespace caisson::nursery {
namespace {

Result<SocketPair> MakeSocket() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return Error::FromErrno(errno, "socket for a cell");
  }
  return SocketPair{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

std::uint64_t Nanoseconds(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_usec) * 1'000;
}

wire::CellGone Obituary(std::uint64_t cell, int status, const rusage& usage) {
  return {
      .kind = wire::FromNursery::kGone,
      .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
      .cell = cell,
      .status = WIFEXITED(status) ? WEXITSTATUS(status) : 0,
      .reserved = 0,
      .cpu_ns = Nanoseconds(usage.ru_utime) + Nanoseconds(usage.ru_stime),
      .peak_memory_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024,
  };
}

std::string MissingWalls(const jail::Walls& walls) {
  std::string missing;
  for (const jail::Wall& wall : walls) {
    if (!wall.up) missing += wall.name + "\n";
  }
  return missing;
}

}  // namespace

Result<void> Nursery::Prepare() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGCHLD);
  if (::sigprocmask(SIG_BLOCK, &signals, nullptr) != 0) {
    return Error::FromErrno(errno, "block SIGCHLD");
  }
  deaths_ = UniqueFd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!deaths_.is_open()) return Error::FromErrno(errno, "signalfd");
  // Tasks are counted per user namespace: without one of its own a cell would be counted together with
  // all that its user runs, so there it stays alone.
  const bool counted = enclosure_.tier() == jail::Tier::kNamespace;
  jail::InterpreterFilter filter{.own_pids = counted,
                                 .own_files = counted,
                                 .threads = counted,
                                 .processes = false,
                                 .successor = runner_ ? jail::kSuccessor : -1};
  TRY_ASSIGN(jail::Filter::Parts single,
             jail::Enclosure::FilterParts(jail::InterpreterSyscalls(filter)));
  filter.processes = counted;
  TRY_ASSIGN(jail::Filter::Parts several,
             jail::Enclosure::FilterParts(jail::InterpreterSyscalls(filter)));
  single_ = std::move(single.second);
  several_ = std::move(several.second);
  if (runner_) {
    address_space_bytes_ = runner_->address_space_bytes();
  } else {
    TRY_ASSIGN(address_space_bytes_, enclosure_.AddressSpace());
  }
  TRY_ASSIGN(const jail::Walls walls, enclosure_.Seal(single.first));
  return control_.SendReady(MissingWalls(walls));
}

Result<void> Nursery::Run() {
  while (true) {
    std::array<pollfd, 2> ready = {{{.fd = control_.socket().get(), .events = POLLIN, .revents = 0},
                                    {.fd = deaths_.get(), .events = POLLIN, .revents = 0}}};
    if (::poll(ready.data(), ready.size(), -1) < 0 && errno != EINTR) {
      return Error::FromErrno(errno, "poll");
    }
    if (ready[1].revents != 0) TRY(Reap());
    if (ready[0].revents == 0) continue;
    TRY_ASSIGN(const std::optional<CellRequest> request, control_.Receive());
    if (!request) return {};
    TRY(Make(*request));
  }
}

Result<const jail::Filter*> Nursery::FilterFor(const wire::MakeCell& request) const {
  if (request.processes == 1) return &*single_;
  if (request.processes == 0) return Error(ErrorCode::kInvalidArgument, "a cell without processes");
  if (enclosure_.tier() == jail::Tier::kNamespace) return &*several_;
  return Error(ErrorCode::kFailedPrecondition,
               "more than one process needs tier namespace: elsewhere they cannot be counted, and "
               "would outlive their cell");
}

Result<void> Nursery::Fail(const wire::MakeCell& request, const Error& why) const {
  return control_.SendNews(wire::FromNursery::kFailed, request.cell, why.message(), {});
}

Result<void> Nursery::Make(const CellRequest& request) {
  const Result<const jail::Filter*> filter = FilterFor(request.head);
  if (!filter) return Fail(request.head, filter.error());
  Result<SocketPair> socket = MakeSocket();
  if (!socket) return Fail(request.head, socket.error());
  Result<jail::Enclosure::Forked> forked = enclosure_.Fork();
  if (forked && forked->pid == 0) {
    const Inheritance inheritance{
        enclosure_,          **filter, rules_, control_, runner_ ? &*runner_ : nullptr,
        address_space_bytes_};
    Cell(inheritance, request, *std::move(socket)).Live();
  }
  if (!forked) return Fail(request.head, forked.error());
  cells_.emplace(forked->pid, request.head.cell);
  const int pidfd = forked->pidfd.get();
  TRY(control_.SendNews(wire::FromNursery::kBorn, request.head.cell, {}, {&pidfd, 1}));
  // Now the cell may say that it is prepared.
  if (::send(socket->host.get(), "g", 1, MSG_NOSIGNAL) != 1) {
    return Error::FromErrno(errno, "release a cell");
  }
  return {};
}

// All that have ended: several deaths can be one signal.
Result<void> Nursery::Reap() {
  signalfd_siginfo ignored{};
  static_cast<void>(!::read(deaths_.get(), &ignored, sizeof ignored));
  while (true) {
    int status = 0;
    rusage usage{};
    const pid_t pid = ::wait4(-1, &status, WNOHANG | __WALL, &usage);
    if (pid < 0 && errno == EINTR) continue;
    if (pid <= 0) return {};
    // Others are orphans of cells: the kernel's, and nobody's news.
    if (const auto cell = cells_.extract(pid)) {
      TRY(control_.SendGone(Obituary(cell.mapped(), status, usage)));
    }
  }
}

}  // namespace caisson::nursery
