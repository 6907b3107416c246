// MakeEngine turns the names that users give into an engine: the one place that names backends.
//
// Trust     Names come from users and are checked. A tier that is not to be had is an error, never
//           replaced by a weaker one (I12).
// Threads   Any.
// Lifetime  The caller owns the engine; it must not be destroyed on one of its own lanes.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"

namespace caisson {

inline constexpr std::string_view kDefaultTier = "namespace";

struct BackendOptions {
  std::string engine = "auto";     // "auto", "wasm" or "native".
  std::string tier{kDefaultTier};  // "namespace", "landlock" or "none".
  std::string scratch{};           // See ScratchPlace().
  std::string installation = {};   // A directory; empty: where FindInstallation looks.
  std::vector<std::string>
      native_packages{};        // What code may use of engine native; empty: the usual.
  std::string python_prefix{};  // A virtual environment for engine native; empty: none.
  std::string
      kept_workers{};  // A directory of older builds (engine/wasm/kept_workers.h); empty: none.
  bool one_owner_per_worker = false;  // Of engine wasm.
  // Told why a worker of engine wasm was lost, for the operator. Called on any thread; may be empty.
  std::function<void(const std::string& why)> on_worker_lost{};
  std::size_t lanes = 0;  // Cores to use; 0: all that this process may use.
  // Ties each lane to its core: right for a server that has the machine. A program that runs one piece
  // of code leaves the choice to the kernel, or all of them would queue up on the first core.
  bool pin = true;
  Limits ceiling = DefaultCeiling();       // No run gets more.
  std::size_t cells_per_owner = SIZE_MAX;  // In each engine. 0: a quarter of its cells.
  std::size_t spare_cells = 4;             // Native ones that wait for the next runs, per lane.
  // What native fork servers have imported before code arrives, one fork server for each line. The first is
  // always there; the others come when code needs them. Only what is installed is imported.
  std::vector<std::vector<std::string>> preloads = {
      {}, {"asyncio"}, {"numpy"}, {"numpy", "pandas"}};
};

// Returns the directory for the files of native cells in tiers without a mount namespace: the
// configured one, else $TMPDIR, else /dev/shm if files there cannot be mapped as code, else /tmp.
std::string ScratchPlace(const std::string& configured);

// Returns when the engine can take its first run. kInvalidArgument: no such name; kNotFound: parts are
// missing; anything else: the boundary or a worker could not be had.
Result<std::unique_ptr<Engine>> MakeEngine(const BackendOptions& options);

}  // namespace caisson
