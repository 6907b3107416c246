#include "engine/native/cell_pool.h"

#include <algorithm>
#include <utility>

namespace caisson {
namespace {

// Making a cell disturbs runs: it waits until no run has ended for this time, or half of the spare
// cells are used.
constexpr std::chrono::milliseconds kLull{3};
constexpr int kFailuresUntilDown = 3;
constexpr std::chrono::milliseconds kMaxBackoff{5000};

std::chrono::milliseconds Backoff(int failures) {
  return std::min(kMaxBackoff, std::chrono::milliseconds(50) * (1 << std::min(failures, 7)));
}

Error NoForkServer() {
  return Error(ErrorCode::kUnavailable, "no fork server can be started");
}

}  // namespace

CellPool::CellPool(asio::io_context& context, NativeState& state, Options options,
                   OnHealth on_health)
    : context_(context),
      state_(state),
      options_(std::move(options)),
      on_health_(std::move(on_health)),
      refill_(context) {}

void CellPool::Start() {
  if (!fork_server_ && !next_ && !start_at_) StartForkServer();
}

void CellPool::Stop() {
  stopping_ = true;
  refill_.cancel();
  spare_.clear();
  if (next_) std::exchange(next_, nullptr)->Stop();
  if (fork_server_) std::exchange(fork_server_, nullptr)->Stop();
  for (const auto& fork_server : std::exchange(draining_, {})) fork_server->Stop();
  FailWaiting(Error(ErrorCode::kUnavailable, "the engine is shutting down"));
}

bool CellPool::busy() const {
  const bool cells_out = fork_server_ && fork_server_->cells() > spare_.size();
  return next_ || start_at_ || cells_out || !draining_.empty() || !waiting_.empty() ||
         (fork_server_ && spare_.size() < options_.spare_cells);
}

// --- Cells.

void CellPool::Take(const CellVariety& variety, WithLink then) {
  if (!MayMake()) return then(NoForkServer());
  TakeWaiting(variety, std::move(then), 0);
}

bool CellPool::TakeOf(std::uint64_t fork_server, const CellVariety& variety, WithLink& then) {
  const ForkServerProcess* const found = Find(fork_server);
  if (stopping_ || found == nullptr || !found->ready()) return false;
  TakeWaiting(variety, std::move(then), fork_server);
  return true;
}

ForkServerProcess* CellPool::Find(std::uint64_t fork_server) const {
  if (fork_server_ && fork_server_->number() == fork_server) return fork_server_.get();
  const auto found = std::ranges::find(draining_, fork_server, &ForkServerProcess::number);
  return found == draining_.end() ? nullptr : found->get();
}

void CellPool::TakeWaiting(const CellVariety& variety, WithLink then, std::uint64_t fork_server) {
  // A cell that was killed meanwhile (it died, or sent a message unasked) is about to go.
  while (!spare_.empty() && spare_.back()->killed_at()) spare_.pop_back();
  const bool spares_fit =
      fork_server == 0 || (fork_server_ && fork_server_->number() == fork_server);
  if (variety == CellVariety{} && !spare_.empty() && spares_fit) {
    auto cell = std::move(spare_.back());
    spare_.pop_back();
    Hand(std::move(cell), std::move(then));
    if (spare_.size() < options_.spare_cells / 2) MakeMore();
    return;
  }
  Await({.variety = variety, .then = std::move(then), .fork_server = fork_server});
}

void CellPool::Prepare(const CellVariety& variety, WithCell then) {
  if (!MayMake()) return then(NoForkServer());
  Await({.variety = variety, .prepare = std::move(then)});
}

bool CellPool::MayMake() const {
  return !stopping_ && failures_ < kFailuresUntilDown;
}

void CellPool::Await(Waiter waiter) {
  waiting_.push_back(std::move(waiter));
  Start();
  MakeMore();
}

void CellPool::Hand(std::shared_ptr<CellProcess> cell, WithLink then) {
  then(cell.get());
  if (cell->taken()) return;
  // The requester does not want it any more.
  if (cell->variety() == CellVariety{} && spare_.size() < options_.spare_cells) {
    spare_.push_back(std::move(cell));
  } else {
    cell->Kill();
  }
}

std::optional<CellPool::Waiter> CellPool::PopWaiter(const ForkServerProcess& fork_server,
                                                    const CellVariety& variety) {
  const auto suits = [&](const Waiter& waiter) {
    return waiter.variety == variety &&
           (waiter.fork_server == 0 || waiter.fork_server == fork_server.number());
  };
  // A waiting run comes first.
  auto found = std::ranges::find_if(
      waiting_, [&](const Waiter& waiter) { return suits(waiter) && !waiter.prepare; });
  if (found == waiting_.end()) found = std::ranges::find_if(waiting_, suits);
  if (found == waiting_.end()) return std::nullopt;
  Waiter waiter = std::move(*found);
  waiting_.erase(found);
  return waiter;
}

// Makes one cell for each waiting request; if there is none, spare cells, one after the other.
void CellPool::MakeMore() {
  const auto make = [this](ForkServerProcess& fork_server, const CellVariety& variety,
                           wire::ToForkServer how) {
    fork_server.Make(state_.next_cell.fetch_add(1, std::memory_order_relaxed), variety, how);
  };
  const auto maker = [this](const Waiter& waiter) {
    return waiter.fork_server == 0 ? fork_server_.get() : Find(waiter.fork_server);
  };
  for (const Waiter& waiter : waiting_) {
    ForkServerProcess* const fork_server = maker(waiter);
    if (fork_server == nullptr || !fork_server->ready()) continue;
    const auto wanted =
        static_cast<std::size_t>(std::ranges::count_if(waiting_, [&](const Waiter& other) {
          return maker(other) == fork_server && other.variety == waiter.variety;
        }));
    while (fork_server->making(waiter.variety) < wanted) {
      make(*fork_server, waiter.variety,
           waiter.prepare ? wire::ToForkServer::kMake : wire::ToForkServer::kMakeNow);
    }
  }
  if (!fork_server_ || !fork_server_->ready()) return;
  if (fork_server_->making() > 0 || spare_.size() >= options_.spare_cells) return;
  // If runs have used up all spare cells, the next run takes this one before it would be warm.
  const bool is_in_demand = spare_.empty() && fork_server_->cells() > 0;
  make(*fork_server_, {}, is_in_demand ? wire::ToForkServer::kMakeNow : wire::ToForkServer::kMake);
}

void CellPool::OnCellPrepared(ForkServerProcess& fork_server, std::shared_ptr<CellProcess> cell) {
  failures_ = 0;
  if (auto waiter = PopWaiter(fork_server, cell->variety())) {
    if (waiter->prepare) {
      waiter->prepare(std::move(cell));
    } else {
      Hand(std::move(cell), std::move(waiter->then));
    }
  } else if (cell->variety() == CellVariety{} && &fork_server == fork_server_.get() &&
             spare_.size() < options_.spare_cells) {
    spare_.push_back(std::move(cell));
  } else {
    cell->Kill();
  }
  MakeMore();
}

// A cell that died while it was made has seen no code: its run can get another one.
bool CellPool::WaitAgain(Waiter& waiter) {
  if (waiter.again || stopping_) return false;
  waiter.again = true;
  if (waiter.variety.mounts) {  // Their trees were used by the first cell.
    auto mounts = CellMounts::Open(waiter.variety.mounts->files(), waiter.variety.mounts->as());
    if (!mounts) return false;
    waiter.variety.mounts = *std::move(mounts);
  }
  waiting_.push_front(std::move(waiter));
  MakeMore();
  return true;
}

void CellPool::OnCellNotMade(ForkServerProcess& fork_server, const CellVariety& variety,
                             NotMade how, const std::string& why) {
  if (auto waiter = PopWaiter(fork_server, variety)) {
    if (how == NotMade::kRefused || !WaitAgain(*waiter)) {
      const ErrorCode code = variety.mounts ? ErrorCode::kFailedPrecondition  // The kernel refused.
                                            : ErrorCode::kUnavailable;
      waiter->Fail(Error(code, "no cell could be made: " + why));
    }
  }
  if (variety.mounts) return;  // Probably caused by the directories.
  // A fork server that fails repeatedly is replaced; until then the tick tries again.
  if (++failures_ < kFailuresUntilDown || &fork_server != fork_server_.get()) return;
  Rotate();
}

void CellPool::OnCellGone(ForkServerProcess& /*fork server*/, CellProcess& cell) {
  std::erase_if(spare_, [&](const auto& spare) { return spare.get() == &cell; });
  if (spare_.size() < options_.spare_cells / 2 || !waiting_.empty()) return MakeMore();
  refill_.expires_after(kLull);
  refill_.async_wait([this](const boost::system::error_code& put_off) {
    if (!put_off) MakeMore();
  });
}

// --- ForkServers.

void CellPool::StartForkServer() {
  start_at_.reset();
  auto fork_server =
      ForkServerProcess::Start(context_, *state_.launcher, options_.fork_server, *this);
  if (!fork_server) return OnStartFailed(fork_server.error().message());
  state_.workers_started.fetch_add(1, std::memory_order_relaxed);
  next_ = *std::move(fork_server);
}

void CellPool::OnStartFailed(const std::string& why) {
  start_at_ = std::chrono::steady_clock::now() + Backoff(++failures_);
  if (fork_server_) return;  // The old one still serves.
  const bool down = failures_ >= kFailuresUntilDown;
  on_health_(down ? Health::kDown : Health::kStarting, why);
  if (down) FailWaiting(Error(ErrorCode::kUnavailable, why));
}

void CellPool::OnForkServerReady(ForkServerProcess& fork_server) {
  if (&fork_server != next_.get()) return;
  DropSpares();
  if (fork_server_) draining_.push_back(std::move(fork_server_));
  fork_server_ = std::move(next_);
  next_ = nullptr;
  failures_ = 0;
  on_health_(Health::kUp, "");
  MakeMore();
}

void CellPool::OnForkServerLost(ForkServerProcess& fork_server, const std::string& why) {
  state_.workers_lost.fetch_add(1, std::memory_order_relaxed);
  FailWaitingFor(fork_server, why);
  std::erase_if(draining_, [&](const auto& item) { return item.get() == &fork_server; });
  if (&fork_server == next_.get()) {
    next_.reset();
    return OnStartFailed(why);
  }
  if (&fork_server != fork_server_.get()) return;
  spare_.clear();
  fork_server_.reset();
  on_health_(Health::kStarting, why);
  // Not started from here: the lost fork server is still on the call stack.
  if (!next_ && !start_at_) start_at_ = std::chrono::steady_clock::now() + Backoff(failures_);
}

void CellPool::Rotate() {
  if (!next_ && !start_at_) StartForkServer();
}

void CellPool::DropSpares() {
  for (const auto& cell : std::exchange(spare_, {})) cell->Kill();
}

void CellPool::ReapDrained() {
  std::erase_if(draining_, [](const std::shared_ptr<ForkServerProcess>& fork_server) {
    // Requested cells are included.
    if (fork_server->cells() > 0) return false;
    fork_server->Stop();
    return true;
  });
}

void CellPool::Check(SteadyTime now) {
  if (start_at_ && now >= *start_at_) StartForkServer();
  std::vector<std::shared_ptr<ForkServerProcess>> fork_servers = draining_;
  for (const auto& fork_server : {fork_server_, next_}) {
    if (fork_server) fork_servers.push_back(fork_server);
  }
  for (const auto& fork_server : fork_servers) fork_server->Check(now);
  ReapDrained();
  if (fork_server_ && fork_server_->ready() &&
      (fork_server_->made() >= options_.rotate_after_cells ||
       now - fork_server_->ready_at() >= options_.rotate_after)) {
    Rotate();
  }
  MakeMore();
}

void CellPool::FailWaitingFor(const ForkServerProcess& fork_server, const std::string& why) {
  std::vector<Waiter> failed;
  for (Waiter& waiter : std::exchange(waiting_, {})) {
    const bool is_for_it = waiter.fork_server == fork_server.number();
    if (is_for_it) {
      failed.push_back(std::move(waiter));
    } else {
      waiting_.push_back(std::move(waiter));
    }
  }
  for (Waiter& waiter : failed) {
    waiter.Fail(Error(ErrorCode::kUnavailable, "the fork server was lost: " + why));
  }
}

void CellPool::FailWaiting(const Error& error) {
  for (Waiter& waiter : std::exchange(waiting_, {})) waiter.Fail(error);
}

}  // namespace caisson
