// The engine `auto`: code runs in engine wasm, unless it imports what only engine native has.
//
// That is found out by the guest logic, from the tree, before anything is executed; so a run that is handed
// on happens once. Engine native is started when the first code needs it.
//
// Trust     That nothing was executed is the word of a guest. A run that did anything that can be seen
//           from outside (calls, output, files) is not handed on, whatever it says.
// Threads   Any. A cell keeps its executor when its run is handed on: what happens in engine native is
//           brought there.
// Lifetime  Owns both engines. Cells first, then the engine.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/guarded.h"
#include "base/result.h"
#include "engine/engine.h"

namespace caisson {

struct AutoEngineOptions {
  // Makes engine native; may take its time.
  std::function<Result<std::unique_ptr<Engine>>()> start_native{};
  // What engine native has and code may use.
  std::shared_ptr<const std::vector<std::string>> native_packages{};
};

class AutoEngine final : public Engine {
 public:
  AutoEngine(std::unique_ptr<Engine> wasm, AutoEngineOptions options);
  ~AutoEngine() override;

  asio::awaitable<Result<std::unique_ptr<Cell>>> Open(OpenOptions options) override;
  asio::awaitable<Result<std::unique_ptr<Cell>>> Restore(OpenOptions options, SavedCell saved,
                                                         Limits limits) override;
  // For engine native: what it is to have ready.
  asio::awaitable<Result<std::shared_ptr<PreparedCell>>> Prepare(Preparation preparation) override;
  EngineStats stats() const override;
  std::size_t cells_per_owner() const override { return wasm_->cells_per_owner(); }
  std::optional<CellBuild> build() const override { return wasm_->build(); }
  std::shared_ptr<const std::vector<std::string>> native_packages() const override {
    return options_.native_packages;
  }

  // For cells: one of engine native, which is started if need be.
  asio::awaitable<Result<std::unique_ptr<Cell>>> OpenNative(OpenOptions options);

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

  const AutoEngineOptions options_;
  const std::unique_ptr<Engine> wasm_;
  mutable Guarded<Native> native_;
  // Starting takes long, so it has a thread; which is there when it is needed.
  Guarded<std::unique_ptr<asio::thread_pool>> starter_;
};

}  // namespace caisson
