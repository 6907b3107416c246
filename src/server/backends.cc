#include "server/backends.h"

#include <utility>

#include "engine/native/native_engine.h"
#include "engine/wasm/wasm_engine.h"
#include "jail/tier.h"
#include "server/installation.h"

namespace caisson {

namespace {

// Gives the engine of one kind out as an Engine.
template <typename T>
Result<std::unique_ptr<Engine>> AsEngine(Result<std::unique_ptr<T>> made) {
  if (!made) return std::move(made).error();
  return std::unique_ptr<Engine>(*std::move(made));
}

Result<std::unique_ptr<Engine>> MakeWasm(const BackendOptions& options, const Installation& found,
                                         jail::Tier tier) {
  return AsEngine(WasmEngine::Create({.worker_path = found.worker_path,
                                      .base_path = found.base_path,
                                      .tier = tier,
                                      .lanes = options.lanes,
                                      .pin = options.pin}));
}

Result<std::unique_ptr<Engine>> MakeNative(const BackendOptions& options, const Installation& found,
                                           jail::Tier tier) {
  if (found.nursery_path.empty()) {
    return Error(ErrorCode::kNotFound, "there is no caisson-nursery beside " + found.worker_path +
                                           ": engine native was not installed");
  }
  return AsEngine(NativeEngine::Create({.nursery_path = found.nursery_path,
                                        .tier = tier,
                                        .lanes = options.lanes,
                                        .pin = options.pin,
                                        .spare_cells = options.spare_cells}));
}

}  // namespace

Result<std::unique_ptr<Engine>> MakeEngine(const BackendOptions& options) {
  if (options.engine != "auto" && options.engine != "wasm" && options.engine != "native") {
    return Error(ErrorCode::kInvalidArgument,
                 "there is no engine \"" + options.engine + "\"; there are: auto, wasm, native");
  }
  TRY_ASSIGN(const jail::Tier tier, jail::ParseTier(options.tier));
  TRY_ASSIGN(const Installation found, FindInstallation(options.installation));
  if (options.engine == "native") return MakeNative(options, found, tier);
  return MakeWasm(options, found, tier);
}

}  // namespace caisson
