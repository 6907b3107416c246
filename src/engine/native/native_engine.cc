#include "engine/native/native_engine.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "engine/native/prepared_cell.h"
#include "engine/session/on_lane.h"
#include "engine/session/session_cell.h"
#include "engine/session/waiting_line.h"
#include "jail/cgroup.h"

namespace caisson {

Result<std::unique_ptr<NativeEngine>> NativeEngine::Create(NativeEngineOptions options) {
  TRY_ASSIGN(auto launcher, MakeNurseryLauncher(options.nursery_path, options.tier));
  return Create(std::move(options), std::move(launcher));
}

Result<std::unique_ptr<NativeEngine>> NativeEngine::Create(
    NativeEngineOptions options, std::unique_ptr<NurseryLauncher> launcher) {
  const std::vector<int> cores = UsableCores();
  const std::size_t lanes =
      options.lanes != 0 ? options.lanes : std::max<std::size_t>(1, cores.size());
  if (options.kinds.empty()) options.kinds.emplace_back();
  auto state = std::make_unique<NativeState>(
      Admission::Options{.lanes = lanes,
                         .cells_per_lane = options.cells_per_lane,
                         .cells = lanes * options.cells_per_lane,
                         .max_waiting = options.max_waiting,
                         .max_waiting_per_owner = options.max_waiting_per_owner},
      options.ceiling, std::move(launcher));
  state->packages = std::move(options.packages);
  std::unique_ptr<NativeEngine> engine(new NativeEngine(std::move(state)));
  jail::Cgroup::RemoveLeftovers();
  const bool cgroups = jail::Cgroup::Available();
  for (std::size_t i = 0; i < lanes; ++i) {
    const bool pin = options.pin && !cores.empty();
    engine->lanes_.push_back(std::make_unique<NativeLane>(
        NativeLane::Options{.index = i,
                            .cpu = pin ? std::optional(cores[i % cores.size()]) : std::nullopt,
                            .pool = {.nursery = {.tier = std::string(jail::ToString(options.tier)),
                                                 .cgroups = cgroups,
                                                 .ready_within = options.ready_within},
                                     .spare_cells = options.spare_cells,
                                     .rotate_after_cells = options.rotate_after_cells,
                                     .rotate_after = options.rotate_after},
                            .kinds = options.kinds},
        *engine->state_));
  }
  for (const auto& lane : engine->lanes_) TRY(lane->AwaitFirstNursery());
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

std::unique_ptr<Cell> NativeEngine::MakeCell(OpenOptions options, Admission::Place place,
                                             std::chrono::nanoseconds queued) {
  EngineLane& lane = *lanes_[place.lane()];
  auto cell =
      std::make_unique<SessionCell>(lane, std::move(options.owner), std::move(place), queued);
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
  auto place = state_->admission.TryTake(preferred != nullptr ? std::optional(preferred->index())
                                                              : std::nullopt);
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
      [&lane, preparation = std::move(preparation)](const std::shared_ptr<CellSession>&,
                                                    Done<Made> done) mutable {
        lane.Prepare(std::move(preparation), [&lane,
                                              done = std::move(done)](Result<Made> made) mutable {
          // Not before whoever awaits it sleeps.
          asio::post(lane.context(), [done = std::move(done), made = std::move(made)]() mutable {
            done(std::move(made));
          });
        });
      });
}

asio::awaitable<Result<std::unique_ptr<Cell>>> NativeEngine::Restore(OpenOptions /*options*/,
                                                                     SavedCell /*saved*/,
                                                                     Limits /*limits*/) {
  co_return Error(ErrorCode::kFailedPrecondition,
                  "engine native cannot restore a cell; saved cells are engine wasm's");
}

}  // namespace caisson
