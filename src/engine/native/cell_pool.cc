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

Error NoNursery() {
  return Error(ErrorCode::kUnavailable, "no nursery can be started");
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
  if (!nursery_ && !next_ && !start_at_) StartNursery();
}

void CellPool::Stop() {
  stopping_ = true;
  refill_.cancel();
  spare_.clear();
  if (next_) std::exchange(next_, nullptr)->Stop();
  if (nursery_) std::exchange(nursery_, nullptr)->Stop();
  for (const auto& nursery : std::exchange(draining_, {})) nursery->Stop();
  FailWaiting(Error(ErrorCode::kUnavailable, "the engine is shutting down"));
}

bool CellPool::busy() const {
  const bool cells_out = nursery_ && nursery_->cells() > spare_.size();
  return next_ || start_at_ || cells_out || !draining_.empty() || !waiting_.empty() ||
         (nursery_ && spare_.size() < options_.spare_cells);
}

// --- Cells.

void CellPool::Take(const CellVariety& variety, WithLink then) {
  if (!MayMake()) return then(NoNursery());
  TakeWaiting(variety, std::move(then), 0);
}

bool CellPool::TakeOf(std::uint64_t nursery, const CellVariety& variety, WithLink& then) {
  const Nursery* const found = Find(nursery);
  if (stopping_ || found == nullptr || !found->ready()) return false;
  TakeWaiting(variety, std::move(then), nursery);
  return true;
}

Nursery* CellPool::Find(std::uint64_t nursery) const {
  if (nursery_ && nursery_->number() == nursery) return nursery_.get();
  const auto found = std::ranges::find(draining_, nursery, &Nursery::number);
  return found == draining_.end() ? nullptr : found->get();
}

void CellPool::TakeWaiting(const CellVariety& variety, WithLink then, std::uint64_t nursery) {
  // A cell that was killed meanwhile (it died, or sent a message unasked) is about to go.
  while (!spare_.empty() && spare_.back()->killed_at()) spare_.pop_back();
  const bool spares_fit = nursery == 0 || (nursery_ && nursery_->number() == nursery);
  if (variety == CellVariety{} && !spare_.empty() && spares_fit) {
    auto cell = std::move(spare_.back());
    spare_.pop_back();
    Hand(std::move(cell), std::move(then));
    if (spare_.size() < options_.spare_cells / 2) MakeMore();
    return;
  }
  Await({.variety = variety, .then = std::move(then), .nursery = nursery});
}

void CellPool::Prepare(const CellVariety& variety, WithCell then) {
  if (!MayMake()) return then(NoNursery());
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

std::optional<CellPool::Waiter> CellPool::PopWaiter(const Nursery& nursery,
                                                    const CellVariety& variety) {
  const auto suits = [&](const Waiter& waiter) {
    return waiter.variety == variety && (waiter.nursery == 0 || waiter.nursery == nursery.number());
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
  const auto make = [this](Nursery& nursery, const CellVariety& variety, wire::ToNursery how) {
    nursery.Make(state_.next_cell.fetch_add(1, std::memory_order_relaxed), variety, how);
  };
  const auto maker = [this](const Waiter& waiter) {
    return waiter.nursery == 0 ? nursery_.get() : Find(waiter.nursery);
  };
  for (const Waiter& waiter : waiting_) {
    Nursery* const nursery = maker(waiter);
    if (nursery == nullptr || !nursery->ready()) continue;
    const auto wanted =
        static_cast<std::size_t>(std::ranges::count_if(waiting_, [&](const Waiter& other) {
          return maker(other) == nursery && other.variety == waiter.variety;
        }));
    while (nursery->making(waiter.variety) < wanted) {
      make(*nursery, waiter.variety,
           waiter.prepare ? wire::ToNursery::kMake : wire::ToNursery::kMakeNow);
    }
  }
  if (!nursery_ || !nursery_->ready()) return;
  if (nursery_->making() > 0 || spare_.size() >= options_.spare_cells) return;
  // If runs have used up all spare cells, the next run takes this one before it would be warm.
  const bool is_in_demand = spare_.empty() && nursery_->cells() > 0;
  make(*nursery_, {}, is_in_demand ? wire::ToNursery::kMakeNow : wire::ToNursery::kMake);
}

void CellPool::OnCellPrepared(Nursery& nursery, std::shared_ptr<CellProcess> cell) {
  failures_ = 0;
  if (auto waiter = PopWaiter(nursery, cell->variety())) {
    if (waiter->prepare) {
      waiter->prepare(std::move(cell));
    } else {
      Hand(std::move(cell), std::move(waiter->then));
    }
  } else if (cell->variety() == CellVariety{} && &nursery == nursery_.get() &&
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

void CellPool::OnCellNotMade(Nursery& nursery, const CellVariety& variety, NotMade how,
                             const std::string& why) {
  if (auto waiter = PopWaiter(nursery, variety)) {
    if (how == NotMade::kRefused || !WaitAgain(*waiter)) {
      const ErrorCode code = variety.mounts ? ErrorCode::kFailedPrecondition  // The kernel refused.
                                            : ErrorCode::kUnavailable;
      waiter->Fail(Error(code, "no cell could be made: " + why));
    }
  }
  if (variety.mounts) return;  // Probably caused by the directories.
  // A nursery that fails repeatedly is replaced; until then the tick tries again.
  if (++failures_ < kFailuresUntilDown || &nursery != nursery_.get()) return;
  Rotate();
}

void CellPool::OnCellGone(Nursery& /*nursery*/, CellProcess& cell) {
  std::erase_if(spare_, [&](const auto& spare) { return spare.get() == &cell; });
  if (spare_.size() < options_.spare_cells / 2 || !waiting_.empty()) return MakeMore();
  refill_.expires_after(kLull);
  refill_.async_wait([this](const boost::system::error_code& put_off) {
    if (!put_off) MakeMore();
  });
}

// --- Nurseries.

void CellPool::StartNursery() {
  start_at_.reset();
  auto nursery = Nursery::Start(context_, *state_.launcher, options_.nursery, *this);
  if (!nursery) return OnStartFailed(nursery.error().message());
  state_.workers_started.fetch_add(1, std::memory_order_relaxed);
  next_ = *std::move(nursery);
}

void CellPool::OnStartFailed(const std::string& why) {
  start_at_ = std::chrono::steady_clock::now() + Backoff(++failures_);
  if (nursery_) return;  // The old one still serves.
  const bool down = failures_ >= kFailuresUntilDown;
  on_health_(down ? Health::kDown : Health::kStarting, why);
  if (down) FailWaiting(Error(ErrorCode::kUnavailable, why));
}

void CellPool::OnNurseryReady(Nursery& nursery) {
  if (&nursery != next_.get()) return;
  DropSpares();
  if (nursery_) draining_.push_back(std::move(nursery_));
  nursery_ = std::move(next_);
  next_ = nullptr;
  failures_ = 0;
  on_health_(Health::kUp, "");
  MakeMore();
}

void CellPool::OnNurseryLost(Nursery& nursery, const std::string& why) {
  state_.workers_lost.fetch_add(1, std::memory_order_relaxed);
  FailWaitingFor(nursery, why);
  std::erase_if(draining_, [&](const auto& item) { return item.get() == &nursery; });
  if (&nursery == next_.get()) {
    next_.reset();
    return OnStartFailed(why);
  }
  if (&nursery != nursery_.get()) return;
  spare_.clear();
  nursery_.reset();
  on_health_(Health::kStarting, why);
  // Not started from here: the lost nursery is still on the call stack.
  if (!next_ && !start_at_) start_at_ = std::chrono::steady_clock::now() + Backoff(failures_);
}

void CellPool::Rotate() {
  if (!next_ && !start_at_) StartNursery();
}

void CellPool::DropSpares() {
  for (const auto& cell : std::exchange(spare_, {})) cell->Kill();
}

void CellPool::ReapDrained() {
  std::erase_if(draining_, [](const std::shared_ptr<Nursery>& nursery) {
    // Requested cells are included.
    if (nursery->cells() > 0) return false;
    nursery->Stop();
    return true;
  });
}

void CellPool::Check(SteadyTime now) {
  if (start_at_ && now >= *start_at_) StartNursery();
  std::vector<std::shared_ptr<Nursery>> nurseries = draining_;
  for (const auto& nursery : {nursery_, next_}) {
    if (nursery) nurseries.push_back(nursery);
  }
  for (const auto& nursery : nurseries) nursery->Check(now);
  ReapDrained();
  if (nursery_ && nursery_->ready() &&
      (nursery_->made() >= options_.rotate_after_cells ||
       now - nursery_->ready_at() >= options_.rotate_after)) {
    Rotate();
  }
  MakeMore();
}

void CellPool::FailWaitingFor(const Nursery& nursery, const std::string& why) {
  std::vector<Waiter> failed;
  for (Waiter& waiter : std::exchange(waiting_, {})) {
    const bool is_for_it = waiter.nursery == nursery.number();
    if (is_for_it) {
      failed.push_back(std::move(waiter));
    } else {
      waiting_.push_back(std::move(waiter));
    }
  }
  for (Waiter& waiter : failed) {
    waiter.Fail(Error(ErrorCode::kUnavailable, "the nursery was lost: " + why));
  }
}

void CellPool::FailWaiting(const Error& error) {
  for (Waiter& waiter : std::exchange(waiting_, {})) waiter.Fail(error);
}

}  // namespace caisson
