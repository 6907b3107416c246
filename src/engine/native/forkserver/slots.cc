#include "engine/native/forkserver/slots.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "engine/native/forkserver/birth.h"
#include "jail/slot.h"

namespace caisson::forkserver {
namespace {

// As many cells as a busy lane has waiting and running; further cells are made alone.
constexpr std::size_t kMostSlots = 16;

// The process of a slot.
class SlotProcess {
 public:
  SlotProcess(const Inheritance& fork_server, UniqueFd requests, UniqueFd news, std::uint8_t number)
      : fork_server_(fork_server),
        requests_(std::move(requests)),
        news_(std::move(news)),
        number_(number) {}

  [[noreturn]] void Live() {
    const Result<void> served = Serve();
    if (!served) {
      std::fprintf(stderr, "caisson-forkserver: a slot: %s\n", served.error().message().c_str());
    }
    ::_exit(served ? EXIT_SUCCESS : EXIT_FAILURE);
  }

 private:
  // Serves until the fork server is gone.
  Result<void> Serve() {
    TRY_ASSIGN(jail::Slot slot,
               jail::Slot::Open(fork_server_.enclosure,
                                {.files = PrivateFilesOfCell(),
                                 .bytes = kScratchTotalBytes,
                                 .inodes = kScratchInodes,
                                 .walls = {.paths = fork_server_.rules, .tasks = kThreads}}));
    Inheritance inheritance = fork_server_;
    inheritance.slot = &slot;
    jail::AwaitNextTick();
    if (!HasRequest()) TRY(SayFree());
    while (true) {
      CellRequest request;
      const ssize_t got = ::recv(requests_.get(), &request.head, sizeof request.head, 0);
      if (got != sizeof request.head) return {};
      TRY(MakeOne(inheritance, slot, request));
    }
  }

  Result<void> MakeOne(const Inheritance& inheritance, jail::Slot& slot,
                       const CellRequest& request) {
    TRY_ASSIGN(const std::optional<pid_t> pid,
               GiveBirth(inheritance, request, [&] { return slot.Fork(); }));
    if (!pid) return SayFree();
    int status = 0;
    Wiped<rusage> usage;
    while (::wait4(*pid, &status, __WALL, &usage.value) < 0) {
      if (errno != EINTR) return Error::FromErrno(errno, "await the end of a cell");
    }
    Wiped<wire::CellGone> gone{Obituary(request.head.cell, status, usage.value)};
    if (slot.AreFilesUntouched()) {
      gone.value.files_untouched = 1;
      // Done first, so that nothing is left to do here while the host continues with the next run.
      TRY(SayFree());
      return inheritance.control.SendGone(gone.value);
    }
    TRY(inheritance.control.SendGone(gone.value));
    TRY(slot.RenewFiles());
    jail::AwaitNextTick();
    return SayFree();
  }

  bool HasRequest() const {
    char any = 0;
    return ::recv(requests_.get(), &any, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
  }

  Result<void> SayFree() const {
    if (::write(news_.get(), &number_, 1) != 1) return Error::FromErrno(errno, "say it is free");
    return {};
  }

  const Inheritance& fork_server_;
  UniqueFd requests_;
  UniqueFd news_;
  const std::uint8_t number_;
};

bool Ask(const UniqueFd& slot, const wire::MakeCell& request) {
  return ::send(slot.get(), &request, sizeof request, MSG_NOSIGNAL) == sizeof request;
}

}  // namespace

bool Slots::Suit(const Inheritance& inheritance, const wire::MakeCell& request) {
  return inheritance.enclosure.tier() == jail::Tier::kNamespace && inheritance.runner == nullptr &&
         request.processes == 1 && request.mounts == 0 && request.groups == 0 &&
         request.total_file_bytes <= kScratchTotalBytes && request.files <= kScratchInodes;
}

Result<void> Slots::Prepare() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0)
    return Error::FromErrno(errno, "pipe for slots");
  news_ = UniqueFd(ends[0]);
  news_end_ = UniqueFd(ends[1]);
  return {};
}

bool Slots::Take(const Inheritance& inheritance, const wire::MakeCell& request) {
  NoteFreeOnes();
  const auto free = std::ranges::find(places_, true, &Place::is_free);
  if (free != places_.end()) {
    free->is_free = false;
    // If the slot has ended, its death is noticed separately.
    return Ask(free->socket, request);
  }
  return request.kind == wire::ToForkServer::kMake && Add(inheritance, &request);
}

void Slots::Grow(const Inheritance& inheritance) {
  static_cast<void>(Add(inheritance, nullptr));
}

bool Slots::Add(const Inheritance& inheritance, const wire::MakeCell* first) {
  std::array<int, 2> ends{};
  if (places_.size() == kMostSlots ||
      ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return false;
  }
  UniqueFd ours(ends[0]);
  UniqueFd its(ends[1]);
  if (first != nullptr && !Ask(ours, *first)) return false;
  const Result<jail::Enclosure::Forked> forked = inheritance.enclosure.ForkSlot();
  if (!forked) return false;
  if (forked->pid == 0) {
    const auto number = static_cast<std::uint8_t>(places_.size());
    ours = UniqueFd();
    places_.clear();  // Otherwise this process would keep the sockets of the other slots open.
    SlotProcess(inheritance, std::move(its), std::move(news_end_), number).Live();
  }
  places_.push_back({.pid = forked->pid, .socket = std::move(ours)});
  return true;
}

void Slots::NoteFreeOnes() {
  std::array<std::uint8_t, kMostSlots> numbers{};
  const ssize_t got = ::read(news_.get(), numbers.data(), numbers.size());
  for (ssize_t i = 0; i < got; ++i) places_[numbers[static_cast<std::size_t>(i)]].is_free = true;
}

bool Slots::Has(pid_t pid) const {
  return std::ranges::find(places_, pid, &Place::pid) != places_.end();
}

}  // namespace caisson::forkserver
