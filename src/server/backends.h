// MakeEngine makes an engine from the names that users give. Only this file names the backends.
//
// Trust     Names come from users and are checked. An unavailable tier is an error; it is never
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
  std::string installation = {};   // A directory; empty: FindInstallation searches.
  // Packages that code may use in engine native; empty: the default list.
  std::vector<std::string> native_packages{};
  std::string python_prefix{};  // Virtual environment for engine native; empty: none.
  // Directory with the workers of older builds (engine/wasm/kept_workers.h); empty: none.
  std::string kept_workers{};
  bool one_owner_per_worker = false;  // For engine wasm.
  // Called with the reason when a worker of engine wasm is lost. Called on any thread; may be
  // empty.
  std::function<void(const std::string& why)> on_worker_lost{};
  std::size_t lanes = 0;  // Cores to use; 0: all that this process may use.
  // Pins each lane to its core, for a server that has the machine to itself. A program that runs
  // one piece of code should not pin: several such programs would all run on the first core.
  bool pin = true;
  Limits ceiling = DefaultCeiling();       // The most that a run can ask for.
  std::size_t cells_per_owner = SIZE_MAX;  // In each engine; 0: a quarter of its cells.
  std::size_t spare_cells = 4;             // Warm native cells per lane.
  // Packages that native fork servers import before code arrives; one fork server for each list.
  // The first fork server always runs; the others start when code needs them. Packages that are not
  // installed are left out.
  std::vector<std::vector<std::string>> preloads = {
      {}, {"asyncio"}, {"numpy"}, {"numpy", "pandas"}};
};

// Returns the directory for the files of native cells in tiers without a mount namespace: the
// configured one, else $TMPDIR, else /dev/shm if files there cannot be mapped as code, else /tmp.
std::string ScratchPlace(const std::string& configured);

// Returns when the engine can take its first run. Fails with kInvalidArgument if there is no engine
// or tier of that name, kNotFound if parts are missing, and with other codes if the boundary or a
// worker is not available.
Result<std::unique_ptr<Engine>> MakeEngine(const BackendOptions& options);

}  // namespace caisson
