// The native engine: the system's CPython, one confined process for each run, forked and warm before the
// code arrives. For what the wasm engine has not: C extensions, threads, processes.
//
//   TRY_ASSIGN(auto engine, NativeEngine::Create({.nursery_path = ...}));
//   TRY_ASSIGN(auto cell, co_await engine->Open({.owner = owner}));
//   TRY_ASSIGN(Outcome outcome, co_await cell->Run({.code = "1+1"}, events, AfterRun::kDiscard));
//
// A cell that is idle can be saved, to be branched while its nursery lives (ADR 37); one with a run cannot. What a session
// leaves in /output and below its mounts is captured when it ends (with a run that discards the cell), because files are
// read only once nobody can write. So a session with an `rw` mount is refused: what it writes would not be there when a
// run has ended.
//
// Trust     Nurseries and cells are hostile; the boundary asked for is there, or Create fails and says why
//           (I12).
// Threads   Any.
// Lifetime  Cells first, then the engine. The destructor leaves no process, thread or descriptor; it
//           must not run on a lane.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"
#include "engine/native/native_cell.h"
#include "engine/native/native_lane.h"
#include "engine/native/nursery_launcher.h"
#include "jail/tier.h"

namespace caisson {

struct NativeEngineOptions {
  std::string nursery_path{};
  jail::Tier tier = jail::Tier::kNamespace;
  std::string scratch = "/tmp";  // Where cells keep their files in the other tiers.
  std::size_t lanes = 0;         // 0: one per core this process may use.
  bool pin = true;               // Each lane and its nurseries to one core.
  Limits ceiling = DefaultCeiling();
  // What nurseries have imported. The first is there from the start and serves whatever no other fits
  // better; the others are started when code needs them.
  std::vector<NurseryKind> kinds = {{}};
  // Top-level modules that code may import whatever a policy's lists say; null: those lists alone.
  std::shared_ptr<const std::vector<std::string>> packages{};
  std::size_t spare_cells = 4;  // Prepared and waiting, per lane and kind. 0: made when needed.
  std::size_t cells_per_lane = 64;
  std::size_t cells_per_owner = SIZE_MAX;  // As Admission::Options has it.
  std::size_t max_waiting = 10'000;
  std::size_t max_waiting_per_owner = 1'000;
  std::chrono::nanoseconds ready_within = std::chrono::seconds(20);  // A nursery, with its imports.
  std::chrono::nanoseconds copied_within = std::chrono::seconds(10);  // A session.
  std::uint64_t max_saved_bytes = 192u
                                  << 20;  // Of one cell: what was changed in memory, and its files.
  std::uint64_t rotate_after_cells = 20'000;
  std::chrono::nanoseconds rotate_after = std::chrono::minutes(30);
};

class NativeEngine final : public Engine {
 public:
  // Returns when the first nursery of every lane is ready.
  static Result<std::unique_ptr<NativeEngine>> Create(NativeEngineOptions options);
  // The same over another way to start nurseries, for tests.
  static Result<std::unique_ptr<NativeEngine>> Create(
      NativeEngineOptions options, std::unique_ptr<NurseryLauncher> launcher,
      std::unique_ptr<ScratchSpace> scratch = nullptr);
  ~NativeEngine() override;

  asio::awaitable<Result<std::unique_ptr<Cell>>> Open(OpenOptions options) override;
  asio::awaitable<Result<std::unique_ptr<Cell>>> Restore(OpenOptions options, SavedCell saved,
                                                         Limits limits) override;
  // For runs with mounts, several processes or large files; other cells wait for their runs anyway.
  asio::awaitable<Result<std::shared_ptr<PreparedCell>>> Prepare(Preparation preparation) override;
  EngineStats stats() const override { return state_->stats(); }
  std::size_t cells_per_owner() const override { return state_->admission.cells_per_owner(); }
  std::shared_ptr<const std::vector<std::string>> native_packages() const override;

  std::size_t lanes() const { return lanes_.size(); }
  asio::any_io_executor lane_executor(std::size_t lane) const { return lanes_[lane]->executor(); }

 private:
  explicit NativeEngine(std::unique_ptr<NativeState> state) : state_(std::move(state)) {}
  EngineLane* CurrentLane() const;
  asio::awaitable<Result<Admission::Place>> PlaceOn(NativeLane& lane, OwnerId owner,
                                                    std::chrono::nanoseconds wait) const;
  std::unique_ptr<NativeCell> MakeCell(OpenOptions options, Admission::Place place,
                                       std::chrono::nanoseconds queued);

  std::unique_ptr<NativeState> state_;
  std::atomic<std::size_t> next_to_prepare_{0};  // The lane, for whoever is on none.
  std::vector<std::unique_ptr<NativeLane>> lanes_;
};

}  // namespace caisson
