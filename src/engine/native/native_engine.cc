#include "engine/native/native_engine.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "engine/host/on_lane.h"
#include "engine/host/waiting_line.h"
#include "engine/native/prepared_cell.h"
#include "jail/cgroup.h"

namespace caisson {
namespace {

constexpr std::chrono::milliseconds kLookForPlace{10};

}  // namespace

Result<std::unique_ptr<NativeEngine>> NativeEngine::Create(NativeEngineOptions options) {
  std::unique_ptr<ScratchSpace> scratch;
  if (options.tier != jail::Tier::kNamespace) {
    TRY_ASSIGN(scratch, ScratchSpace::Open(options.scratch));
    TRY(scratch->SweepIfKilled(options.fork_server_path));
  }
  TRY_ASSIGN(auto launcher, MakeForkServerLauncher(options.fork_server_path, options.tier,
                                                   scratch ? scratch->path() : std::string()));
  return Create(std::move(options), std::move(launcher), std::move(scratch));
}

Result<std::unique_ptr<NativeEngine>> NativeEngine::Create(
    NativeEngineOptions options, std::unique_ptr<ForkServerLauncher> launcher,
    std::unique_ptr<ScratchSpace> scratch) {
  const std::vector<int> cores = UsableCores();
  const std::size_t lanes =
      options.lanes != 0 ? options.lanes : std::max<std::size_t>(1, cores.size());
  if (options.kinds.empty()) options.kinds.emplace_back();
  auto state = std::make_unique<NativeState>(
      Admission::Options{.lanes = lanes,
                         .cells_per_lane = options.cells_per_lane,
                         .cells = lanes * options.cells_per_lane,
                         .cells_per_owner = options.cells_per_owner,
                         .max_waiting = options.max_waiting,
                         .max_waiting_per_owner = options.max_waiting_per_owner},
      options.ceiling, std::move(launcher));
  state->scratch = std::move(scratch);
  state->packages = std::move(options.packages);
  state->max_saved_bytes = options.max_saved_bytes;
  state->saves_idle_cells_only = true;
  std::unique_ptr<NativeEngine> engine(new NativeEngine(std::move(state)));
  jail::Cgroup::RemoveLeftovers();
  const bool cgroups = jail::Cgroup::Available();
  for (std::size_t i = 0; i < lanes; ++i) {
    const bool pin = options.pin && !cores.empty();
    engine->lanes_.push_back(std::make_unique<NativeLane>(
        NativeLane::Options{
            .index = i,
            .cpu = pin ? std::optional(cores[i % cores.size()]) : std::nullopt,
            .pool = {.fork_server = {.tier = std::string(jail::ToString(options.tier)),
                                     .cgroups = cgroups,
                                     .scratch = engine->state_->scratch.get(),
                                     .pipes = &engine->state_->pipes,
                                     .ready_within = options.ready_within,
                                     .copied_within = options.copied_within},
                     .spare_cells = options.spare_cells,
                     .rotate_after_cells = options.rotate_after_cells,
                     .rotate_after = options.rotate_after},
            .kinds = options.kinds},
        *engine->state_));
  }
  for (const auto& lane : engine->lanes_) TRY(lane->AwaitFirstForkServer());
  return engine;
}

NativeEngine::~NativeEngine() {
  state_->admission.Close();
}

std::shared_ptr<const std::vector<std::string>> NativeEngine::native_packages() const {
  return state_->packages;
}

EngineLane* NativeEngine::CurrentLane() const {
  EngineLane* lane = EngineLane::Current();
  return lane != nullptr && &lane->state() == state_.get() ? lane : nullptr;
}

std::unique_ptr<NativeCell> NativeEngine::MakeCell(OpenOptions options, Admission::Place place,
                                                   std::chrono::nanoseconds queued) {
  NativeLane& lane = *lanes_[place.lane()];
  auto cell =
      std::make_unique<NativeCell>(lane, std::move(options.owner), std::move(place), queued);
  if (options.host_files) cell->UseHostFiles(std::move(options.host_files));
  if (options.prepared) cell->UsePrepared(std::move(options.prepared));
  return cell;
}

asio::awaitable<Result<std::unique_ptr<Cell>>> NativeEngine::Open(OpenOptions options) {
  EngineLane* current = CurrentLane();
  EngineLane* preferred = current;
  if (const auto* made = dynamic_cast<NativePreparedCell*>(options.prepared.get())) {
    preferred = &made->lane();
  }
  auto place = state_->admission.TryTake(
      options.owner, preferred != nullptr ? std::optional(preferred->index()) : std::nullopt);
  if (!place) co_return std::move(place).error();
  if (place->has_value()) {
    co_return MakeCell(std::move(options), **std::move(place), std::chrono::nanoseconds(0));
  }
  const SteadyTime since = std::chrono::steady_clock::now();
  auto waited = co_await AwaitPlace(current != nullptr ? *current : *lanes_.front(), options);
  if (!waited) co_return std::move(waited).error();
  co_return MakeCell(std::move(options), *std::move(waited),
                     std::chrono::steady_clock::now() - since);
}

asio::awaitable<Result<std::shared_ptr<PreparedCell>>> NativeEngine::Prepare(
    Preparation preparation) {
  using Made = std::shared_ptr<PreparedCell>;
  const EngineLane* current = CurrentLane();
  const std::size_t index =
      current != nullptr ? current->index()
                         : next_to_prepare_.fetch_add(1, std::memory_order_relaxed) % lanes_.size();
  NativeLane& lane = *lanes_[index];
  co_return co_await OnLane<Made>(
      lane, nullptr,
      [&lane, preparation = std::move(preparation)](const std::shared_ptr<CellProtocol>&,
                                                    Done<Made> done) mutable {
        lane.Prepare(std::move(preparation), [&lane,
                                              done = std::move(done)](Result<Made> made) mutable {
          // Posted: the awaiting coroutine must be suspended first.
          asio::post(lane.context(), [done = std::move(done), made = std::move(made)]() mutable {
            done(std::move(made));
          });
        });
      });
}

// The lane is fixed, so there is no line to wait in: it polls.
asio::awaitable<Result<Admission::Place>> NativeEngine::PlaceOn(
    NativeLane& lane, OwnerId owner, std::chrono::nanoseconds wait) const {
  const SteadyTime deadline = std::chrono::steady_clock::now() + wait;
  asio::steady_timer pause(lane.executor());
  while (true) {
    auto place = state_->admission.TryTakeOn(owner, lane.index());
    if (!place) co_return std::move(place).error();
    if (place->has_value()) co_return **std::move(place);
    if (std::chrono::steady_clock::now() >= deadline) {
      co_return Error(ErrorCode::kDeadlineExceeded,
                      "no cell became free on the core where the session lives");
    }
    pause.expires_after(kLookForPlace);
    if (const auto [error] = co_await pause.async_wait(asio::as_tuple(asio::use_awaitable));
        error) {
      co_return Error(ErrorCode::kCancelled, "cancelled while waiting for a cell");
    }
  }
}

asio::awaitable<Result<std::unique_ptr<Cell>>> NativeEngine::Restore(OpenOptions options,
                                                                     SavedCell saved,
                                                                     Limits limits) {
  if (auto good = CheckLimits(limits, state_->ceiling); !good) co_return std::move(good).error();
  if (!saved.origin || saved.origin->owner != options.owner ||
      saved.origin->lane >= lanes_.size()) {
    co_return Error(ErrorCode::kFailedPrecondition,
                    "engine native did not save this cell for this owner");
  }
  const std::uint64_t parent = saved.origin->parent;
  auto place = co_await PlaceOn(*lanes_[saved.origin->lane], options.owner, options.wait);
  if (!place) co_return std::move(place).error();
  auto cell = MakeCell(std::move(options), *std::move(place), std::chrono::nanoseconds(0));
  auto restored = co_await cell->Restore(parent, std::move(saved), limits);
  if (!restored) co_return std::move(restored).error();
  co_return std::unique_ptr<Cell>(std::move(cell));
}

}  // namespace caisson
