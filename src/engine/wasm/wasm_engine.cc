#include "engine/wasm/wasm_engine.h"

#include <algorithm>
#include <utility>

#include "engine/host/waiting_line.h"
#include "engine/wasm/kept_workers.h"
#include "engine/wasm/wasm_cell.h"

namespace caisson {
Result<std::unique_ptr<WasmEngine>> WasmEngine::Create(WasmEngineOptions options) {
  JailLauncherOptions launcher{.worker_path = options.worker_path,
                               .base_path = options.base_path,
                               .tier = options.tier,
                               .arguments = {}};
  if (options.verify_reset) launcher.arguments.emplace_back("--verify-reset");
  TRY_ASSIGN(auto made, MakeJailLauncher(std::move(launcher)));
  return Create(std::move(options), std::move(made));
}

Result<std::unique_ptr<WasmEngine>> WasmEngine::Create(WasmEngineOptions options,
                                                       std::unique_ptr<Launcher> launcher) {
  const std::vector<int> cores = UsableCores();
  const std::size_t lanes =
      options.lanes != 0 ? options.lanes : std::max<std::size_t>(1, cores.size());
  auto shared = std::make_unique<EngineShared>(
      Admission::Options{.lanes = lanes,
                         .cells_per_lane = options.cells_per_lane,
                         .cells = lanes * options.cells_per_lane,
                         .cells_per_owner = options.cells_per_owner,
                         .max_waiting = options.max_waiting,
                         .max_waiting_per_owner = options.max_waiting_per_owner},
      options.ceiling, std::move(launcher));
  shared->max_saved_bytes = options.max_saved_bytes;
  shared->on_worker_lost = std::move(options.on_worker_lost);
  std::unique_ptr<WasmEngine> engine(new WasmEngine(std::move(shared)));
  for (std::size_t i = 0; i < lanes; ++i) {
    const bool pin = options.pin && !cores.empty();
    engine->lanes_.push_back(std::make_unique<Lane>(
        Lane::Options{.index = i,
                      .cpu = pin ? std::optional(cores[i % cores.size()]) : std::nullopt,
                      .cores = pin ? cores : std::vector<int>(),
                      .tier = std::string(jail::ToString(options.tier)),
                      .owners = options.owners_per_worker,
                      .max_owner_workers = options.max_owner_workers,
                      .owner_worker_idle = options.owner_worker_idle,
                      .owner_wait = options.owner_wait},
        *engine->shared_));
  }
  for (const auto& lane : engine->lanes_) TRY(lane->AwaitFirstWorker());
  return engine;
}

WasmEngine::~WasmEngine() {
  shared_->admission.Close();
}

EngineLane* WasmEngine::CurrentLane() const {
  EngineLane* lane = EngineLane::Current();
  return lane != nullptr && &lane->state() == shared_.get() ? lane : nullptr;
}

std::unique_ptr<Cell> WasmEngine::MakeCell(OpenOptions options, Admission::Place place,
                                           std::chrono::nanoseconds queued) {
  Lane& lane = *lanes_[place.lane()];
  auto cell = std::make_unique<WasmCell>(lane, std::move(options.owner), std::move(place), queued);
  if (options.host_files) cell->UseHostFiles(std::move(options.host_files));
  return cell;
}

asio::awaitable<Result<std::unique_ptr<Cell>>> WasmEngine::Open(OpenOptions options) {
  EngineLane* current = CurrentLane();
  auto place = shared_->admission.TryTake(
      options.owner, current != nullptr ? std::optional(current->index()) : std::nullopt);
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

asio::awaitable<Result<std::unique_ptr<Cell>>> WasmEngine::Restore(OpenOptions options,
                                                                   SavedCell saved, Limits limits) {
  if (auto good = CheckLimits(limits, shared_->ceiling); !good) co_return std::move(good).error();
  // Workers refuse such a cell too, but they need not see it.
  if (const auto saved_by = BuildOf(saved); saved_by && saved_by != build()) {
    co_return Error(ErrorCode::kFailedPrecondition, "the cell was saved by another build");
  }
  auto cell = co_await Open(std::move(options));
  if (!cell) co_return std::move(cell).error();
  auto restored =
      co_await static_cast<WasmCell&>(**cell).Restore(std::move(saved), std::move(limits));
  if (!restored) co_return std::move(restored).error();
  co_return std::move(cell);
}

EngineStats WasmEngine::stats() const {
  return shared_->stats();
}

std::size_t WasmEngine::cells_per_owner() const {
  return shared_->admission.cells_per_owner();
}

std::optional<CellBuild> WasmEngine::build() const {
  return *shared_->build.Lock();
}

}  // namespace caisson
