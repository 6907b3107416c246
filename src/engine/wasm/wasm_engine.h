// The wasm engine: one lane per core, each with a jailed worker that holds many cells.
//
//   TRY_ASSIGN(auto engine, WasmEngine::Create({.worker_path = ..., .base_path = ...}));
//   TRY_ASSIGN(auto cell, co_await engine->Open({.owner = owner}));
//   TRY_ASSIGN(Outcome outcome, co_await cell->Run({.code = "1+1"}, events, AfterRun::kDiscard));
//
// A coroutine that runs on lane_executor(i) gets its cells there and never changes threads.
//
// Trust     Workers are hostile. The requested boundary is in place, or Create fails with the
//           reason (I12).
// Threads   Any.
// Lifetime  Destroy the cells before the engine. The destructor leaves no process, thread or
//           descriptor; it must not run on a lane.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"
#include "engine/wasm/lane.h"
#include "engine/wasm/launcher.h"
#include "jail/tier.h"

namespace caisson {

struct WasmEngineOptions {
  std::string worker_path{};
  std::string base_path{};
  jail::Tier tier = jail::Tier::kNamespace;
  std::size_t lanes = 0;  // 0: one per core this process may use.
  bool pin = true;        // Pin each lane and its worker to one core.
  Limits ceiling = DefaultCeiling();
  std::size_t cells_per_lane = 1000;       // Including parked ones.
  std::size_t cells_per_owner = SIZE_MAX;  // As in Admission::Options.
  std::size_t max_waiting = 10'000;
  std::size_t max_waiting_per_owner = 1'000;
  std::uint64_t max_saved_bytes = 64u << 20;
  OwnersPerWorker owners_per_worker = OwnersPerWorker::kMany;
  // Maximum number of workers per lane that serve a single owner: those for restored cells or, with
  // kOne, all. A worker is kept until its owner has had no cell for a while.
  std::size_t max_owner_workers = 16;
  std::chrono::nanoseconds owner_worker_idle = std::chrono::seconds(5);
  std::chrono::nanoseconds owner_wait = std::chrono::seconds(10);
  // Called with the reason when a worker was lost, including the end of its log: for the operator,
  // not for the owners of its runs. Called on any lane; may be empty.
  std::function<void(const std::string& why)> on_worker_lost{};
  bool verify_reset = false;  // For tests: workers check every reset bit for bit.
};

class WasmEngine final : public Engine {
 public:
  // Returns when all workers are ready.
  static Result<std::unique_ptr<WasmEngine>> Create(WasmEngineOptions options);
  // The same with another launcher, for tests.
  static Result<std::unique_ptr<WasmEngine>> Create(WasmEngineOptions options,
                                                    std::unique_ptr<Launcher> launcher);
  ~WasmEngine() override;

  asio::awaitable<Result<std::unique_ptr<Cell>>> Open(OpenOptions options) override;
  asio::awaitable<Result<std::unique_ptr<Cell>>> Restore(OpenOptions options, SavedCell saved,
                                                         Limits limits) override;
  EngineStats stats() const override;
  std::size_t cells_per_owner() const override;
  std::optional<CellBuild> build() const override;

  std::size_t lanes() const { return lanes_.size(); }
  asio::any_io_executor lane_executor(std::size_t lane) const { return lanes_[lane]->executor(); }

 private:
  explicit WasmEngine(std::unique_ptr<EngineShared> shared) : shared_(std::move(shared)) {}
  EngineLane* CurrentLane() const;
  std::unique_ptr<Cell> MakeCell(OpenOptions options, Admission::Place place,
                                 std::chrono::nanoseconds queued);

  std::unique_ptr<EngineShared> shared_;
  std::vector<std::unique_ptr<Lane>> lanes_;
};

}  // namespace caisson
