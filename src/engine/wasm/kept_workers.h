// KeptWorkers is a wasm engine that also restores what older builds saved, each in workers of that very build: what was
// put to sleep before an upgrade goes on after it, from where it was, and need not be replayed.
//
//   keep/2026-11/caisson-worker        each folder one build: the worker and the base it was installed with
//   keep/2026-11/caisson.base
//
// Fresh cells are always the newest build's. An older one is started when somebody restores a cell of its, and stays.
//
// Trust     Whoever can write to the directory chooses what runs in the jail, as with the installation itself. A worker
//           that says it is another build than its file is not used.
// Threads   Any. Starting an older build has a thread of its own.
// Lifetime  Owns all its engines. Cells first, then the engine, and not on a lane.
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

// What is kept in `directory`. A folder that has one of the two files and not the other is an error.
Result<std::vector<KeptBuild>> FindKeptBuilds(const std::string& directory);

// The build whose workers can take the cell back, as the one that saved it wrote at its front.
std::optional<CellBuild> BuildOf(const SavedCell& saved);

class KeptWorkers final : public Engine {
 public:
  using StartBuild = std::function<Result<std::unique_ptr<Engine>>(const KeptBuild& build)>;

  KeptWorkers(std::unique_ptr<Engine> newest, std::vector<KeptBuild> kept, StartBuild start);
  ~KeptWorkers() override;

  asio::awaitable<Result<std::unique_ptr<Cell>>> Open(OpenOptions options) override;
  // kFailedPrecondition also if workers of its build are kept and cannot be started.
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
