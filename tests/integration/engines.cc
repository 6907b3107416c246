#include "tests/integration/engines.h"

#include <cstdio>
#include <cstdlib>
#include <ostream>
#include <utility>

#include "jail/testing/namespaces.h"

namespace caisson::testing {
namespace {

// Tests of tier namespace are skipped where a container refuses it.
void SkipIfRefused(jail::Tier tier) {
  if (tier == jail::Tier::kNamespace) jail::SkipWithoutNamespaces();
}

template <typename T>
std::unique_ptr<T> OrAbort(Result<std::unique_ptr<T>> engine) {
  if (engine) return *std::move(engine);
  std::fprintf(stderr, "no engine: %s\n", engine.error().message().c_str());
  std::abort();
}

}  // namespace

std::string NameOf(EngineKind kind) {
  return kind == EngineKind::kForeign ? "foreign" : EngineOf(kind);
}

std::string EngineOf(EngineKind kind) {
  return kind == EngineKind::kWasm ? "wasm" : "native";
}

void PrintTo(EngineKind kind, std::ostream* out) {
  *out << NameOf(kind);
}

WasmEngineOptions WasmOptions(EngineChoice choice) {
  WasmEngineOptions options;
  options.worker_path = CAISSON_WORKER_DIR "/caisson-worker";
  options.base_path = CAISSON_WORKER_DIR "/caisson.base";
  options.tier = choice.tier;
  options.lanes = choice.lanes;
  options.pin = false;
  options.verify_reset = true;
  return options;
}

NativeEngineOptions NativeOptions(EngineChoice choice) {
  NativeEngineOptions options;
  options.fork_server_path = CAISSON_FORK_SERVER;
  options.tier = choice.tier;
  options.lanes = choice.lanes;
  options.pin = false;
  options.spare_cells = 0;
  return options;
}

NativeEngineOptions ForeignOptions(EngineChoice choice) {
  NativeEngineOptions options = NativeOptions(choice);
  options.kinds = {{.prefix = "/usr", .is_foreign = true}};
  return options;
}

std::unique_ptr<WasmEngine> StartWasm(WasmEngineOptions options) {
  SkipIfRefused(options.tier);
  return OrAbort(WasmEngine::Create(std::move(options)));
}

std::unique_ptr<NativeEngine> StartNative(NativeEngineOptions options) {
  SkipIfRefused(options.tier);
  return OrAbort(NativeEngine::Create(std::move(options)));
}

std::unique_ptr<Engine> StartEngine(EngineKind kind, EngineChoice choice) {
  if (kind == EngineKind::kWasm) return StartWasm(WasmOptions(choice));
  return StartNative(kind == EngineKind::kForeign ? ForeignOptions(choice) : NativeOptions(choice));
}

}  // namespace caisson::testing
