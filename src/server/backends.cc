#include "server/backends.h"

#include <utility>

#include "engine/wasm/wasm_engine.h"
#include "jail/tier.h"
#include "server/installation.h"

namespace caisson {

Result<std::unique_ptr<Engine>> MakeEngine(const BackendOptions& options) {
  if (options.engine != "auto" && options.engine != "wasm") {
    return Error(ErrorCode::kInvalidArgument,
                 "there is no engine \"" + options.engine + "\"; there are: auto, wasm");
  }
  TRY_ASSIGN(const jail::Tier tier, jail::ParseTier(options.tier));
  TRY_ASSIGN(Installation found, FindInstallation(options.installation));
  TRY_ASSIGN(std::unique_ptr<WasmEngine> engine,
             WasmEngine::Create({.worker_path = std::move(found.worker_path),
                                 .base_path = std::move(found.base_path),
                                 .tier = tier,
                                 .lanes = options.lanes,
                                 .pin = options.pin}));
  return std::unique_ptr<Engine>(std::move(engine));
}

}  // namespace caisson
