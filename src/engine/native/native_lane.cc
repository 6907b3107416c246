#include "engine/native/native_lane.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <string_view>
#include <utility>

#include "engine/native/prepared_cell.h"

namespace caisson {
namespace {

// Interval for checking fork servers while there is work; an idle lane sleeps.
constexpr std::chrono::milliseconds kTick{50};

// A module of a package, such as matplotlib.pyplot, stands for the whole package.
std::string_view PackageOf(const std::string& module) {
  return std::string_view(module).substr(0, module.find('.'));
}

bool HasMounts(const CellNeeds& needs) {
  return needs.host_files && !needs.host_files->mounts().empty();
}

}  // namespace

NativeLane::NativeLane(Options options, NativeState& state)
    : EngineLane(state, options.index),
      options_(std::move(options)),
      work_(asio::make_work_guard(context())),
      tick_(context()) {
  for (const ForkServerKind& kind : options_.kinds) {
    CellPool::Options pool = options_.pool;
    pool.fork_server.kind = kind;
    pool.fork_server.cpu = options_.cpu;
    pool.fork_server.lane = options_.index;
    const bool first = pools_.empty();
    pools_.push_back(
        std::make_unique<CellPool>(context(), state, std::move(pool),
                                   [this, first](CellPool::Health health, const std::string& why) {
                                     if (first) OnHealth(health, why);
                                   }));
  }
  first_ready_ = first_.emplace().get_future();
  thread_ = std::thread([this] { Run(); });
}

NativeLane::~NativeLane() {
  asio::post(context(), [this] { Stop(); });
  thread_.join();
}

void NativeLane::Run() {
  BecomeCurrent("caisson-native" + std::to_string(index()), options_.cpu);
  pools_.front()->Start();
  EnsureTick();
  context().run();
  // The handlers that Stop cancelled still hold their fork servers and cells.
  context().restart();
  context().poll();
}

void NativeLane::Stop() {
  stopping_ = true;
  tick_.cancel();
  for (const auto& pool : pools_) pool->Stop();
  work_.reset();
  context().stop();
}

void NativeLane::OnHealth(CellPool::Health health, const std::string& why) {
  switch (health) {
    case CellPool::Health::kStarting:
      state().admission.SetLane(index(), Admission::LaneState::kStarting);
      break;
    case CellPool::Health::kUp:
      state().admission.SetLane(index(), Admission::LaneState::kUp);
      break;
    case CellPool::Health::kDown:
      state().admission.SetLane(index(), Admission::LaneState::kDown, why);
      break;
  }
  if (!first_) return;
  const bool up = health == CellPool::Health::kUp;
  first_->set_value(up ? Result<void>() : Error(ErrorCode::kFailedPrecondition, why));
  first_.reset();
}

// Returns the kind that has imported most of `modules`; the first of equal ones.
CellPool& NativeLane::PoolFor(const std::vector<std::string>& modules) {
  const auto has = [&](const ForkServerKind& kind) {
    return std::ranges::count_if(modules, [&](const std::string& module) {
      return std::ranges::find(kind.preload, module, PackageOf) != kind.preload.end();
    });
  };
  const auto best = std::ranges::max_element(options_.kinds, {}, has);
  return *pools_[static_cast<std::size_t>(best - options_.kinds.begin())];
}

Result<CellVariety> NativeLane::VarietyFor(const CellNeeds& needs) const {
  if (!HasMounts(needs)) return CellVariety::For(needs);
  const bool has_namespaces =
      options_.pool.fork_server.tier == jail::ToString(jail::Tier::kNamespace);
  TRY_ASSIGN(auto mounts,
             CellMounts::Open(needs.host_files, has_namespaces ? CellMounts::As::kTrees
                                                               : CellMounts::As::kDirectories));
  if (!has_namespaces && mounts->writable() > 0) {
    return Error(ErrorCode::kFailedPrecondition,
                 "in engine native, rw and overlay mounts need tier namespace; mount with ro, "
                 "or run the code in engine wasm");
  }
  return CellVariety::For(needs, std::move(mounts));
}

void NativeLane::WithFreshCell(const OwnerId& owner, CellNeeds needs, WithLink then) {
  EnsureTick();
  if (auto cell = TakePrepared(needs)) {
    CellProcess& process = *cell;
    return process.EndReserve([this, owner, cell = std::move(cell), needs = std::move(needs),
                               then = std::move(then)]() mutable {
      if (!cell->waits()) return WithFreshCell(owner, std::move(needs), std::move(then));
      then(cell.get());
      if (!cell->taken()) cell->Kill();  // The requester does not want it any more.
    });
  }
  auto variety = VarietyFor(needs);
  if (!variety) return then(std::move(variety).error());
  PoolFor(needs.modules).Take(*variety, std::move(then));
}

bool NativeLane::MakesOnDemand(const CellNeeds& needs) const {
  return HasMounts(needs) || CellVariety::For(needs) != CellVariety{};
}

// A prepared cell must equal the cell that would be made now, with the same directories.
std::shared_ptr<CellProcess> NativeLane::TakePrepared(CellNeeds& needs) {
  const std::shared_ptr<PreparedCell> prepared = std::exchange(needs.prepared, nullptr);
  auto* const ours = dynamic_cast<NativePreparedCell*>(prepared.get());
  if (ours == nullptr || &ours->lane() != this || &ours->pool() != &PoolFor(needs.modules)) {
    return nullptr;
  }
  if (!ours->Suits(needs)) return nullptr;
  return ours->Take();
}

void NativeLane::Prepare(Preparation preparation, WithPrepared then) {
  const CellNeeds needs{.processes = preparation.limits.processes,
                        .total_file_bytes = preparation.limits.total_file_bytes,
                        .files = preparation.limits.files,
                        .modules = preparation.modules,
                        .host_files = std::move(preparation.host_files)};
  if (!MakesOnDemand(needs)) return then(std::shared_ptr<PreparedCell>());
  EnsureTick();
  auto variety = VarietyFor(needs);
  if (!variety) return then(std::move(variety).error());
  CellPool& pool = PoolFor(needs.modules);
  pool.Prepare(*variety, [this, &pool, keep = preparation.keep,
                          witness = std::move(preparation.witness), then = std::move(then)](
                             Result<std::shared_ptr<CellProcess>> cell) mutable {
    if (!cell) return then(std::move(cell).error());
    (*cell)->Reserve(keep, std::move(witness));
    then(std::shared_ptr<PreparedCell>(std::make_shared<NativePreparedCell>(*this, pool, *cell)));
  });
}

void NativeLane::WithFreshCellOf(std::uint64_t fork_server, const CellNeeds& needs, WithLink then) {
  EnsureTick();
  auto variety = VarietyFor(needs);
  if (!variety) return then(std::move(variety).error());
  for (const auto& pool : pools_) {
    if (pool->TakeOf(fork_server, *variety, then)) return;
  }
  then(Error(ErrorCode::kFailedPrecondition,
             "the fork server that made the cell is gone, and no other can restore it"));
}

void NativeLane::EnsureTick() {
  if (ticking_ || stopping_) return;
  ticking_ = true;
  tick_.expires_after(kTick);
  tick_.async_wait([this](const boost::system::error_code& error) {
    ticking_ = false;
    if (!error) Tick();
  });
}

void NativeLane::Tick() {
  const SteadyTime now = std::chrono::steady_clock::now();
  for (const auto& pool : pools_) pool->Check(now);
  if (std::ranges::any_of(pools_, [](const auto& pool) { return pool->busy(); })) EnsureTick();
}

}  // namespace caisson
