#include "server/backends.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "engine/auto/auto_engine.h"
#include "engine/native/native_engine.h"
#include "engine/native/packages.h"
#include "engine/wasm/kept_workers.h"
#include "engine/wasm/wasm_engine.h"
#include "jail/tier.h"
#include "server/installation.h"

namespace caisson {

namespace {

// Workers of one lane at a time if each has one owner. Each takes a few megabytes.
constexpr std::size_t kOwnersPerLane = 64;

// Converts a concrete engine to an Engine.
template <typename T>
Result<std::unique_ptr<Engine>> AsEngine(Result<std::unique_ptr<T>> made) {
  if (!made) return std::move(made).error();
  return std::unique_ptr<Engine>(*std::move(made));
}

// Adds the executors of its lanes to `doors`, unless that is null.
Result<std::unique_ptr<Engine>> MakeWasm(const BackendOptions& options, const Installation& found,
                                         jail::Tier tier,
                                         std::vector<asio::any_io_executor>* doors = nullptr) {
  WasmEngineOptions wasm{.worker_path = found.worker_path,
                         .base_path = found.base_path,
                         .tier = tier,
                         .lanes = options.lanes,
                         .pin = options.pin,
                         .ceiling = options.ceiling,
                         .cells_per_owner = options.cells_per_owner,
                         .on_worker_lost = options.on_worker_lost};
  if (options.one_owner_per_worker) {
    wasm.owners_per_worker = OwnersPerWorker::kOne;
    wasm.max_owner_workers = kOwnersPerLane;
  }
  TRY_ASSIGN(auto made, WasmEngine::Create(std::move(wasm)));
  for (std::size_t i = 0; doors != nullptr && i < made->lanes(); ++i) {
    doors->push_back(made->lane_executor(i));
  }
  Result<std::unique_ptr<Engine>> newest = std::unique_ptr<Engine>(std::move(made));
  if (options.kept_workers.empty()) return newest;
  auto kept = FindKeptBuilds(options.kept_workers);
  if (!kept) return std::move(kept).error().Context("worker.keep");
  // Older builds only finish their own runs, so one lane is enough.
  auto start = [tier, options](const KeptBuild& build) {
    return AsEngine(WasmEngine::Create({.worker_path = build.worker_path,
                                        .base_path = build.base_path,
                                        .tier = tier,
                                        .lanes = 1,
                                        .pin = false,
                                        .ceiling = options.ceiling,
                                        .cells_per_owner = options.cells_per_owner}));
  };
  return std::unique_ptr<Engine>(
      std::make_unique<KeptWorkers>(*std::move(newest), *std::move(kept), std::move(start)));
}

std::vector<ForkServerKind> KindsOf(const std::vector<std::vector<std::string>>& preloads,
                                    const std::string& prefix) {
  // Another CPython starts for each run and imports packages then.
  if (!IsForEmbedded(prefix)) return {{.prefix = prefix}};
  const std::vector<std::string> installed = InstalledPackages(prefix);
  std::vector<ForkServerKind> kinds;
  for (const std::vector<std::string>& names : preloads) {
    const bool all = std::ranges::all_of(names, [&](const std::string& name) {
      return std::ranges::binary_search(installed, name.substr(0, name.find('.')));
    });
    if (all) kinds.push_back({.preload = names, .prefix = prefix});
  }
  return kinds;
}

// Returns the packages that code may use in engine native. Without a fork server there are none,
// and code that needs one gets an error that names what is missing.
std::shared_ptr<const std::vector<std::string>> PackagesOf(const BackendOptions& options,
                                                           const Installation& found) {
  std::vector<std::string> packages;
  if (!found.fork_server_path.empty()) {
    const std::vector<std::string_view> chosen(options.native_packages.begin(),
                                               options.native_packages.end());
    packages = AllowedPackages(InstalledPackages(options.python_prefix),
                               chosen.empty() ? UsualPackages() : chosen);
  }
  return std::make_shared<const std::vector<std::string>>(std::move(packages));
}

Result<std::unique_ptr<Engine>> MakeNative(const BackendOptions& options, const Installation& found,
                                           jail::Tier tier) {
  if (found.fork_server_path.empty()) {
    return Error(ErrorCode::kNotFound, "there is no caisson-forkserver beside " +
                                           found.worker_path + ": engine native was not installed");
  }
  return AsEngine(NativeEngine::Create({.fork_server_path = found.fork_server_path,
                                        .tier = tier,
                                        .scratch = ScratchPlace(options.scratch),
                                        .lanes = options.lanes,
                                        .pin = options.pin,
                                        .ceiling = options.ceiling,
                                        .kinds = KindsOf(options.preloads, options.python_prefix),
                                        .packages = PackagesOf(options, found),
                                        .spare_cells = options.spare_cells,
                                        .cells_per_owner = options.cells_per_owner}));
}

Result<std::unique_ptr<Engine>> MakeAuto(const BackendOptions& options, const Installation& found,
                                         jail::Tier tier) {
  std::vector<asio::any_io_executor> doors;
  TRY_ASSIGN(auto wasm, MakeWasm(options, found, tier, &doors));
  return std::unique_ptr<Engine>(std::make_unique<AutoEngine>(
      std::move(wasm),
      AutoEngineOptions{
          .start_native = [options, found, tier] { return MakeNative(options, found, tier); },
          .doors = std::move(doors),
          .native_packages = PackagesOf(options, found)}));
}

}  // namespace

std::string ScratchPlace(const std::string& configured) {
  if (!configured.empty()) return configured;
  const char* const temporary =
      ::getenv("TMPDIR");  // NOLINT(concurrency-mt-unsafe): only read here.
  if (temporary != nullptr && *temporary != '\0') return temporary;
  // Containers mount it so that files in it cannot be mapped as code.
  struct statvfs mount{};
  const bool is_better = ::statvfs("/dev/shm", &mount) == 0 && (mount.f_flag & ST_NOEXEC) != 0 &&
                         ::access("/dev/shm", W_OK) == 0;
  return is_better ? "/dev/shm" : "/tmp";
}

Result<std::unique_ptr<Engine>> MakeEngine(const BackendOptions& options) {
  if (options.engine != "auto" && options.engine != "wasm" && options.engine != "native") {
    return Error(ErrorCode::kInvalidArgument,
                 "there is no engine \"" + options.engine + "\"; there are: auto, wasm, native");
  }
  TRY_ASSIGN(const jail::Tier tier, jail::ParseTier(options.tier));
  TRY_ASSIGN(const Installation found, FindInstallation(options.installation));
  if (options.engine == "native") return MakeNative(options, found, tier);
  if (options.engine == "wasm") return MakeWasm(options, found, tier);
  return MakeAuto(options, found, tier);
}

}  // namespace caisson
