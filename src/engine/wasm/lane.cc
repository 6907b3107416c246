#include "engine/wasm/lane.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

namespace caisson {
namespace {

// Interval for checking deadlines while there are any; an idle lane sleeps.
constexpr std::chrono::milliseconds kTick{100};
// A worker that dies before this age is not replaced at once.
constexpr std::chrono::milliseconds kYoung{200};
// While it polls its worker, the lane checks for other work after this many slices.
constexpr int kQuietSlices = 40;
constexpr int kTurnsBetweenPolls = 4;
constexpr int kHandlersPerPoll = 64;
constexpr int kFailuresUntilDown = 3;
constexpr std::chrono::milliseconds kMaxBackoff{5000};

}  // namespace

Lane::Lane(Options options, EngineShared& shared)
    : EngineLane(shared, options.index),
      options_(std::move(options)),
      shared_(shared),
      work_(asio::make_work_guard(context())),
      tick_(context()),
      placement_(options_.cpu, options_.cores, shared.busy_lanes) {
  first_ready_ = first_.emplace().get_future();
  thread_ = std::thread([this] { Run(); });
}

Lane::~Lane() {
  asio::post(context(), [this] { Stop(); });
  thread_.join();
}

void Lane::Run() {
  BecomeCurrent("caisson-lane" + std::to_string(index()), options_.cpu);
  StartMain();
  while (!context().stopped()) {
    if (placement_.apart()) WatchMain();
    context().run_one();
  }
  // The handlers that Stop cancelled still hold their worker.
  context().restart();
  context().poll();
}

// Serves the main worker and all others without sleeping, until nothing has happened for a while.
void Lane::WatchMain() {
  const auto worker = main_;
  if (!worker || !worker->ready()) return;
  worker->link().SetWatching(true);
  int turns = 0;
  for (int quiet = 0; quiet < kQuietSlices && placement_.apart(); ++quiet) {
    if (worker->Watch(wire::kWatchNs / kQuietSlices)) {
      quiet = 0;
      if (++turns % kTurnsBetweenPolls != 0) continue;
    }
    // A few at a time: handlers that post further handlers must not delay the worker's messages.
    for (int handlers = 0; handlers < kHandlersPerPoll && context().poll_one() > 0; ++handlers) {
      quiet = 0;
    }
  }
  worker->link().SetWatching(false);
  worker->Watch(0);
}

void Lane::Stop() {
  stopping_ = true;
  tick_.cancel();
  if (main_) std::exchange(main_, nullptr)->Stop();
  for (auto& [owner, worker] : std::exchange(owner_workers_, {})) {
    worker.process->Stop();
    FailWaiting(std::move(worker.waiting),
                Error(ErrorCode::kUnavailable, "the engine is shutting down"));
  }
  FailWaiting(std::exchange(waiting_, {}),
              Error(ErrorCode::kUnavailable, "the engine is shutting down"));
  for (WaitingOwner& waiting : std::exchange(waiting_owners_, {})) {
    waiting.then(Error(ErrorCode::kUnavailable, "the engine is shutting down"));
  }
  work_.reset();
  context().stop();
}

Result<void> Lane::AwaitFirstWorker() {
  return first_ready_.get();
}

Result<std::shared_ptr<WorkerProcess>> Lane::StartWorker() {
  auto worker = WorkerProcess::Start(context(), *shared_.launcher,
                                     {.tier = options_.tier, .cpu = options_.cpu}, *this);
  if (worker) shared_.workers_started.fetch_add(1, std::memory_order_relaxed);
  return worker;
}

void Lane::StartMain() {
  main_start_at_.reset();
  auto worker = StartWorker();
  if (!worker) return OnMainFailed(worker.error().message());
  main_ = *std::move(worker);
  EnsureTick();
}

void Lane::OnMainFailed(const std::string& why) {
  ++failures_;
  const auto backoff =
      std::min(kMaxBackoff, std::chrono::milliseconds(50) * (1 << std::min(failures_, 7)));
  main_start_at_ = std::chrono::steady_clock::now() + backoff;
  EnsureTick();
  const Error error(ErrorCode::kUnavailable, why);
  if (first_) {
    first_->set_value(Error(ErrorCode::kFailedPrecondition, why));
    first_.reset();
  }
  if (failures_ < kFailuresUntilDown) return;
  shared_.admission.SetLane(index(), Admission::LaneState::kDown, why);
  FailWaiting(std::exchange(waiting_, {}), error);
}

bool Lane::SameBuild(const WorkerBuild& build) {
  auto first = shared_.build.Lock();
  if (!*first) *first = build;
  return **first == build;
}

void Lane::OnWorkerReady(WorkerProcess& worker) {
  if (!SameBuild(worker.link().ready()->build)) {
    const auto keep = worker.shared_from_this();
    worker.Stop();
    return OnWorkerLost(worker, "a worker of another build than the first one's");
  }
  if (&worker == main_.get()) {
    failures_ = 0;
    main_used_ = true;
    main_ready_at_ = std::chrono::steady_clock::now();
    for (WithLink& then : std::exchange(waiting_, {})) then(&worker.link());
    shared_.admission.SetLane(index(), Admission::LaneState::kUp);
    if (first_) {
      first_->set_value({});
      first_.reset();
    }
    return;
  }
  for (auto& [owner, entry] : owner_workers_) {
    if (entry.process.get() != &worker) continue;
    worker.idle_since = std::chrono::steady_clock::now();
    for (WithLink& then : std::exchange(entry.waiting, {})) then(&worker.link());
    return;
  }
}

void Lane::OnWorkerLost(WorkerProcess& worker, const std::string& why) {
  shared_.workers_lost.fetch_add(1, std::memory_order_relaxed);
  if (shared_.on_worker_lost) shared_.on_worker_lost(why);
  if (&worker == main_.get()) {
    main_.reset();
    if (!std::exchange(main_used_, false)) return OnMainFailed(why);
    shared_.admission.SetLane(index(), Admission::LaneState::kStarting);
    const auto now = std::chrono::steady_clock::now();
    if (now - main_ready_at_ < kYoung) {
      main_start_at_ = now + kYoung;
      return EnsureTick();
    }
    return asio::post(context(), [this] {
      if (!stopping_ && !main_) StartMain();
    });
  }
  const auto entry = std::ranges::find_if(
      owner_workers_, [&](const auto& item) { return item.second.process.get() == &worker; });
  if (entry == owner_workers_.end()) return;
  auto waiting = std::move(entry->second.waiting);
  owner_workers_.erase(entry);
  FailWaiting(std::move(waiting), Error(ErrorCode::kUnavailable, why));
}

void Lane::FailWaiting(std::vector<WithLink> waiting, const Error& error) {
  for (WithLink& then : waiting) then(error);
}

void Lane::WithFreshCell(const OwnerId& owner, CellNeeds /*needs*/, WithLink then) {
  if (options_.owners == OwnersPerWorker::kOne) return WithWorkerOf(owner, std::move(then));
  EnsureTick();
  if (main_ && main_->ready()) return then(&main_->link());
  if (stopping_ || failures_ >= kFailuresUntilDown) {
    return then(Error(ErrorCode::kUnavailable, "no worker can be started"));
  }
  waiting_.push_back(std::move(then));
}

void Lane::WithWorkerOf(const OwnerId& owner, WithLink then) {
  EnsureTick();
  if (stopping_) return then(Error(ErrorCode::kUnavailable, "the engine is shutting down"));
  const bool one = options_.owners == OwnersPerWorker::kOne;
  if (!owner_workers_.contains(owner)) {
    if (one && (!waiting_owners_.empty() || !MakeRoomForOwner())) {
      const SteadyTime until = std::chrono::steady_clock::now() + options_.owner_wait;
      return waiting_owners_.push_back({owner, until, std::move(then)});
    }
    if (!one && !MakeRoomForOwner()) {
      return then(Error(ErrorCode::kResourceExhausted, "too many owners have restored cells"));
    }
  }
  HandToWorkerOf(owner, std::move(then));
}

void Lane::HandToWorkerOf(const OwnerId& owner, WithLink then) {
  auto entry = owner_workers_.find(owner);
  if (entry == owner_workers_.end()) {
    auto worker = TakeUnusedWorker();
    if (!worker) return then(Error(ErrorCode::kUnavailable, worker.error().message()));
    entry = owner_workers_.emplace(owner, OwnerWorker{.process = *std::move(worker), .waiting = {}})
                .first;
  }
  if (main_ && main_->ready()) main_->link().LetSleep();
  if (entry->second.process->ready()) return then(&entry->second.process->link());
  entry->second.waiting.push_back(std::move(then));
}

Result<std::shared_ptr<WorkerProcess>> Lane::TakeUnusedWorker() {
  if (options_.owners == OwnersPerWorker::kMany || !main_ || !main_->ready()) return StartWorker();
  main_used_ = false;
  asio::post(context(), [this] {
    if (!stopping_ && !main_ && !main_start_at_) StartMain();
  });
  return std::exchange(main_, nullptr);
}

// If there are too many workers, ends the one that has been idle longest. A worker never gets
// another owner.
bool Lane::MakeRoomForOwner() {
  if (owner_workers_.size() < options_.max_owner_workers) return true;
  auto idle = owner_workers_.end();
  for (auto entry = owner_workers_.begin(); entry != owner_workers_.end(); ++entry) {
    WorkerProcess& worker = *entry->second.process;
    if (!entry->second.waiting.empty() || worker.link().protocols() > 0) continue;
    if (idle == owner_workers_.end() || worker.idle_since < idle->second.process->idle_since) {
      idle = entry;
    }
  }
  if (idle == owner_workers_.end()) return false;
  idle->second.process->Stop();
  owner_workers_.erase(idle);
  return true;
}

void Lane::ServeWaitingOwners(SteadyTime now) {
  while (!waiting_owners_.empty()) {
    const bool has_worker = owner_workers_.contains(waiting_owners_.front().owner);
    const bool late = now >= waiting_owners_.front().until;
    if (!has_worker && !late && !MakeRoomForOwner()) return;
    WaitingOwner next = std::move(waiting_owners_.front());
    waiting_owners_.pop_front();
    if (has_worker || !late) {
      HandToWorkerOf(next.owner, std::move(next.then));
    } else {
      next.then(Error(ErrorCode::kResourceExhausted,
                      "all " + std::to_string(options_.max_owner_workers) +
                          " workers of this core have cells of other owners, and [engine] "
                          "owners_per_worker is \"one\"; try again later"));
    }
  }
}

void Lane::OnWorkerTurn() {
  placement_.OnTurn();
  if (waiting_owners_.empty()) return;
  // Deferred: this may be the worker that is about to be ended.
  asio::post(context(), [this] {
    if (!stopping_) ServeWaitingOwners(std::chrono::steady_clock::now());
  });
}

void Lane::EnsureTick() {
  if (ticking_ || stopping_) return;
  ticking_ = true;
  tick_.expires_after(kTick);
  tick_.async_wait([this](const boost::system::error_code& error) {
    ticking_ = false;
    if (!error) Tick();
  });
}

void Lane::Tick() {
  const SteadyTime now = std::chrono::steady_clock::now();
  if (main_start_at_ && now >= *main_start_at_) StartMain();
  if (const auto worker = main_) worker->Check(now);
  std::vector<std::shared_ptr<WorkerProcess>> others;
  for (const auto& [owner, entry] : owner_workers_) others.push_back(entry.process);
  for (const auto& worker : others) worker->Check(now);
  RetireOwnerWorkers(now);
  ServeWaitingOwners(now);
  placement_.OnTick(kTick);
  const bool main_busy = main_ && (!main_->ready() || main_->link().protocols() > 0);
  if (main_busy || main_start_at_ || !owner_workers_.empty()) EnsureTick();
}

void Lane::RetireOwnerWorkers(SteadyTime now) {
  for (auto entry = owner_workers_.begin(); entry != owner_workers_.end();) {
    WorkerProcess& worker = *entry->second.process;
    if (!worker.ready() || worker.link().protocols() > 0 || !entry->second.waiting.empty()) {
      worker.idle_since = now;
    } else if (now - worker.idle_since > options_.owner_worker_idle) {
      worker.Stop();
      entry = owner_workers_.erase(entry);
      continue;
    }
    ++entry;
  }
}

}  // namespace caisson
