// Engine `auto` runs code in engine wasm, unless the code imports modules that only engine native
// has.
//
// The guest logic finds that out from the syntax tree before anything is executed, so a run that is
// passed on is executed once. Engine native is started when code first needs it.
//
// Trust     Only the guest claims that nothing was executed. A run that has had a visible effect
//           (calls, output, files) is not passed on, whatever the guest reports.
// Threads   Any. A cell keeps its executor when its run is passed on: events of engine native are
//           forwarded to it.
// Lifetime  Owns both engines. Destroy the cells before the engine.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/guarded.h"
#include "base/result.h"
#include "engine/door_lanes.h"
#include "engine/engine.h"
#include "engine/warmable.h"

namespace caisson {

struct AutoEngineOptions {
  // Makes engine native; may block for long.
  std::function<Result<std::unique_ptr<Engine>>()> start_native{};
  // The executors of engine wasm's lanes; see DoorLanes.
  std::vector<asio::any_io_executor> doors{};
  // The packages of engine native that code may use.
  std::shared_ptr<const std::vector<std::string>> native_packages{};
};

class AutoEngine final : public Engine, public DoorLanes, public Warmable {
 public:
  AutoEngine(std::unique_ptr<Engine> wasm, AutoEngineOptions options);
  ~AutoEngine() override;

  asio::awaitable<Result<std::unique_ptr<Cell>>> Open(OpenOptions options) override;
  asio::awaitable<Result<std::unique_ptr<Cell>>> Restore(OpenOptions options, SavedCell saved,
                                                         Limits limits) override;
  // Prepares a cell of engine native.
  asio::awaitable<Result<std::shared_ptr<PreparedCell>>> Prepare(Preparation preparation) override;
  std::vector<asio::any_io_executor> door_executors() const override { return options_.doors; }
  // Starts engine native.
  void Warm() override;
  void ListenForPackages(OnPackages listener) override { on_packages_ = std::move(listener); }
  EngineStats stats() const override;
  std::size_t cells_per_owner() const override { return wasm_->cells_per_owner(); }
  std::optional<CellBuild> build() const override { return wasm_->build(); }
  std::shared_ptr<const std::vector<std::string>> native_packages() const override {
    return options_.native_packages;
  }

  // For cells: opens a cell of engine native, which is started if necessary, for code that imports
  // these modules.
  asio::awaitable<Result<std::unique_ptr<Cell>>> OpenNative(
      OpenOptions options, const std::vector<std::string>& modules);

 private:
  struct Native {
    std::unique_ptr<Engine> engine;
    std::optional<Error> failure;
    std::chrono::steady_clock::time_point failed_at{};
  };

  Result<Engine*> StartNative();
  asio::awaitable<Result<std::unique_ptr<Cell>>> RestoreNative(OpenOptions options, SavedCell saved,
                                                               Limits limits);
  asio::awaitable<Result<Engine*>> NativeEngineStarted();
  asio::any_io_executor Starter();

  const AutoEngineOptions options_;
  const std::unique_ptr<Engine> wasm_;
  OnPackages on_packages_;
  mutable Guarded<Native> native_;
  // Starting takes long, so it has its own thread, which is made when it is needed.
  Guarded<std::unique_ptr<asio::thread_pool>> starter_;
};

}  // namespace caisson
