// KeptWorkers is a wasm engine that also restores cells saved by older builds, each in workers of
// the same build. A run that was saved before an upgrade continues after it and need not be
// replayed.
//
//   keep/2026-11/caisson-worker        one folder per build: the worker and the base it was
//   installed with
//   keep/2026-11/caisson.base
//
// Fresh cells always use the newest build. An older build is started when one of its cells is
// restored, and then keeps running.
//
// Trust     Anyone who can write to the directory decides what runs in the jail, as with the
//           installation itself. A worker that reports a different build than its file is not used.
// Threads   Any. Starting an older build has its own thread.
// Lifetime  Owns all its engines. Destroy the cells first, then the engine, and not on a lane.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/guarded.h"
#include "base/result.h"
#include "engine/engine.h"

namespace caisson {

struct KeptBuild {
  CellBuild build{};
  std::string worker_path;
  std::string base_path;
};

// Returns the builds kept in `directory`. Fails if a folder has only one of the two files.
Result<std::vector<KeptBuild>> FindKeptBuilds(const std::string& directory);

// Returns the build whose workers can restore the cell, which the saving build wrote at its front.
std::optional<CellBuild> BuildOf(const SavedCell& saved);

class KeptWorkers final : public Engine {
 public:
  using StartBuild = std::function<Result<std::unique_ptr<Engine>>(const KeptBuild& build)>;

  KeptWorkers(std::unique_ptr<Engine> newest, std::vector<KeptBuild> kept, StartBuild start);
  ~KeptWorkers() override;

  asio::awaitable<Result<std::unique_ptr<Cell>>> Open(OpenOptions options) override;
  // Also fails with kFailedPrecondition if workers of the build are kept but cannot be started.
  asio::awaitable<Result<std::unique_ptr<Cell>>> Restore(OpenOptions options, SavedCell saved,
                                                         Limits limits) override;
  EngineStats stats() const override;
  std::size_t cells_per_owner() const override { return newest_->cells_per_owner(); }
  std::optional<CellBuild> build() const override { return newest_->build(); }

 private:
  const KeptBuild* FindKept(const SavedCell& saved) const;
  Result<Engine*> Start(const KeptBuild& kept);

  const std::unique_ptr<Engine> newest_;
  const std::vector<KeptBuild> kept_;
  const StartBuild start_;
  mutable Guarded<std::map<const KeptBuild*, std::unique_ptr<Engine>>> started_;
  asio::thread_pool starter_{1};
};

}  // namespace caisson
