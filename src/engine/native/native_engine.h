// The native engine runs each run in its own confined process with the system's CPython, forked and
// warm before the code arrives. It is for code that engine wasm cannot run: C extensions, threads,
// processes.
//
//   TRY_ASSIGN(auto engine, NativeEngine::Create({.fork_server_path = ...}));
//   TRY_ASSIGN(auto cell, co_await engine->Open({.owner = owner}));
//   TRY_ASSIGN(Outcome outcome, co_await cell->Run({.code = "1+1"}, events, AfterRun::kDiscard));
//
// An idle cell can be saved and branched while its fork server lives (ADR 37); a cell with a run
// cannot. Files that a session leaves in /output and below its mounts are captured when it ends
// (with a run that discards the cell), because files are read only when no process can write to
// them. So a session with an `rw` mount is refused: its writes would not be applied at the end of
// each run.
//
// Trust     ForkServers and cells are hostile. The requested boundary is in place, or Create fails
//           with the reason (I12).
// Threads   Any.
// Lifetime  Destroy the cells before the engine. The destructor leaves no process, thread or
//           descriptor; it must not run on a lane.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"
#include "engine/native/fork_server_launcher.h"
#include "engine/native/native_cell.h"
#include "engine/native/native_lane.h"
#include "jail/tier.h"

namespace caisson {

struct NativeEngineOptions {
  std::string fork_server_path{};
  jail::Tier tier = jail::Tier::kNamespace;
  // Directory for the files of cells in tiers without a mount namespace.
  std::string scratch = "/tmp";
  std::size_t lanes = 0;  // 0: one per core this process may use.
  bool pin = true;        // Pin each lane and its fork servers to one core.
  Limits ceiling = DefaultCeiling();
  // The kinds of fork servers, by their imported modules. The first kind is started at once and
  // serves all code that no other kind fits better. The others are started when code needs them.
  std::vector<ForkServerKind> kinds = {{}};
  // Top-level modules that code may import whatever the policy's lists say. Null: only those lists
  // apply.
  std::shared_ptr<const std::vector<std::string>> packages{};
  std::size_t spare_cells = 4;  // Prepared cells per lane and kind. 0: cells are made when needed.
  std::size_t cells_per_lane = 64;
  std::size_t cells_per_owner = SIZE_MAX;  // As in Admission::Options.
  std::size_t max_waiting = 10'000;
  std::size_t max_waiting_per_owner = 1'000;
  // Time for a fork server to start, with its imports.
  std::chrono::nanoseconds ready_within = std::chrono::seconds(20);
  std::chrono::nanoseconds copied_within = std::chrono::seconds(10);  // Time to copy a session.
  std::uint64_t max_saved_bytes = 192u << 20;  // For one cell: its changed memory and its files.
  std::uint64_t rotate_after_cells = 20'000;
  std::chrono::nanoseconds rotate_after = std::chrono::minutes(30);
};

class NativeEngine final : public Engine {
 public:
  // Returns when the first fork server of every lane is ready.
  static Result<std::unique_ptr<NativeEngine>> Create(NativeEngineOptions options);
  // The same with another launcher, for tests.
  static Result<std::unique_ptr<NativeEngine>> Create(
      NativeEngineOptions options, std::unique_ptr<ForkServerLauncher> launcher,
      std::unique_ptr<ScratchSpace> scratch = nullptr);
  ~NativeEngine() override;

  asio::awaitable<Result<std::unique_ptr<Cell>>> Open(OpenOptions options) override;
  asio::awaitable<Result<std::unique_ptr<Cell>>> Restore(OpenOptions options, SavedCell saved,
                                                         Limits limits) override;
  // Prepares cells for runs with mounts, several processes or large files; spare cells serve all
  // other runs.
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
  std::atomic<std::size_t> next_to_prepare_{0};  // The lane for callers that are on no lane.
  std::vector<std::unique_ptr<NativeLane>> lanes_;
};

}  // namespace caisson
