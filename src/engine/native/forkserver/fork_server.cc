#include "engine/native/forkserver/fork_server.h"

#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/sanitized.h"
#include "engine/native/forkserver/birth.h"
#include "engine/native/forkserver/heap_gaps.h"
#include "jail/become.h"

namespace caisson::forkserver {
namespace {

std::string MissingWalls(const jail::Walls& walls) {
  std::string missing;
  for (const jail::Wall& wall : walls) {
    if (!wall.up) missing += wall.name + "\n";
  }
  return missing;
}

}  // namespace

Result<void> ForkServer::Prepare() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGCHLD);
  if (const int error = ::pthread_sigmask(SIG_BLOCK, &signals, nullptr); error != 0) {
    return Error::FromErrno(error, "block SIGCHLD");
  }
  deaths_ = UniqueFd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!deaths_.is_open()) return Error::FromErrno(errno, "signalfd");
  TRY(slots_.Prepare());
  // The kernel counts tasks per user namespace: without its own, a cell would be counted together
  // with everything that its user runs. Such a cell asks for each thread, and has one process.
  const bool asks = scratch_.is_open();
  const bool counted = enclosure_.tier() == jail::Tier::kNamespace;
  if (asks || counted) {
    TRY_ASSIGN(questions_,
               jail::Filter::CompileQuestions(jail::CountedSyscalls({.threads_and_names = asks})));
  }
  jail::InterpreterFilter filter{.own_pids = counted,
                                 .own_files = counted,
                                 .threads = counted || asks,
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
    TRY_ASSIGN(judge_, ForeignJudge::Prepare(enclosure_));
  } else {
    TRY(TakeBaseline());
    TRY_ASSIGN(address_space_bytes_, enclosure_.AddressSpace());
  }
  TRY_ASSIGN(const jail::Walls walls, enclosure_.Seal(single.first));
  CloseHeapGaps();  // Closes the gaps of our own preparations.
  return control_.SendReady(MissingWalls(walls),
                            baseline_ ? Control::Copies::kAny : Control::Copies::kNone);
}

// Without a pid namespace a copy would have another pid than libraries remember. A sanitizer has
// its own memory, and records addresses in it.
Result<void> ForkServer::TakeBaseline() {
  const bool has_small_pages = ::sysconf(_SC_PAGESIZE) == static_cast<long>(kPageBytes);
  if (enclosure_.tier() != jail::Tier::kNamespace || kIsSanitized || !has_small_pages) return {};
  const auto maps = enclosure_.OpenOwn("maps");
  if (!maps) return {};  // Its cells cannot be copied, and report that.
  TRY_ASSIGN(baseline_, Baseline::Take(*maps));
  return {};
}

Result<void> ForkServer::Run() {
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

Result<const jail::Filter*> ForkServer::FilterFor(const wire::MakeCell& request) const {
  if (request.processes == 1) return &*single_;
  if (request.processes == 0) return Error(ErrorCode::kInvalidArgument, "a cell without processes");
  if (enclosure_.tier() == jail::Tier::kNamespace) return &*several_;
  return Error(ErrorCode::kFailedPrecondition,
               "more than one process needs tier namespace: elsewhere they cannot be counted, and "
               "would outlive their cell");
}

Result<void> ForkServer::Make(const CellRequest& request) {
  const Result<const jail::Filter*> filter = FilterFor(request.head);
  if (!filter) return control_.SendFailed(request.head.cell, filter.error());
  const Inheritance inheritance{enclosure_,
                                **filter,
                                rules_,
                                control_,
                                runner_ ? &*runner_ : nullptr,
                                judge_ ? &*judge_ : nullptr,
                                address_space_bytes_,
                                baseline_ ? &*baseline_ : nullptr,
                                scratch_.is_open() ? &scratch_ : nullptr,
                                questions_ ? &*questions_ : nullptr};
  // Not the first cell: there may be no other.
  const bool suits_slot =
      Slots::Suit(inheritance, request.head) && std::exchange(wants_slots_, true);
  if (suits_slot && slots_.Take(inheritance, request.head)) return {};
  TRY_ASSIGN(const std::optional<pid_t> pid,
             GiveBirth(inheritance, request, [this] { return enclosure_.Fork(); }));
  if (pid) cells_.emplace(*pid, request.head.cell);
  if (suits_slot) slots_.Grow(inheritance);
  return {};
}

// Reaps all that have ended: several deaths can be one signal.
Result<void> ForkServer::Reap() {
  signalfd_siginfo ignored{};
  static_cast<void>(!::read(deaths_.get(), &ignored, sizeof ignored));
  while (true) {
    int status = 0;
    Wiped<rusage> usage;
    const pid_t pid = ::wait4(-1, &status, WNOHANG | __WALL, &usage.value);
    if (pid < 0 && errno == EINTR) continue;
    if (pid <= 0) return {};
    if (slots_.Has(pid)) return Error(ErrorCode::kInternal, "a slot has ended");
    // Others are orphans of cells, which need no report.
    if (const auto cell = cells_.extract(pid)) {
      const Wiped<wire::CellGone> gone{Obituary(cell.mapped(), status, usage.value)};
      TRY(control_.SendGone(gone.value));
    }
  }
}

}  // namespace caisson::forkserver
