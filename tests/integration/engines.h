// Engines for tests: either kind, with its real program, started the same way.
//
// Trust     Trusted test code.
// Threads   Any.
// Lifetime  The caller owns the engine; destroy its cells first.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "engine/engine.h"
#include "engine/native/native_engine.h"
#include "engine/wasm/wasm_engine.h"

namespace caisson::testing {

// kForeign: native, with the system's Python started for each run as another version would be.
enum class EngineKind { kWasm, kNative, kForeign };

// The second half of a test's name.
std::string NameOf(EngineKind kind);
// "wasm", "native": the name in outcomes.
std::string EngineOf(EngineKind kind);
void PrintTo(EngineKind kind, std::ostream* out);

// Options that tests of both kinds can set.
struct EngineChoice {
  std::size_t lanes = 1;
  jail::Tier tier = jail::Tier::kNamespace;
};

// A wasm engine verifies every reset bit for bit. A native one keeps no spare cells, so that the
// processes a test counts are those of its own runs.
std::unique_ptr<Engine> StartEngine(EngineKind kind, EngineChoice choice = {});

// The same, for tests of one kind only.
WasmEngineOptions WasmOptions(EngineChoice choice = {});
NativeEngineOptions NativeOptions(EngineChoice choice = {});
NativeEngineOptions ForeignOptions(EngineChoice choice = {});
std::unique_ptr<WasmEngine> StartWasm(WasmEngineOptions options = WasmOptions());
std::unique_ptr<NativeEngine> StartNative(NativeEngineOptions options = NativeOptions());

// A suite that runs on both, and on both kinds of native: INSTANTIATE_ON_BOTH_ENGINES(SuiteTest).
class OnEachEngine : public ::testing::TestWithParam<EngineKind> {};
#define INSTANTIATE_ON_BOTH_ENGINES(suite)                                                      \
  INSTANTIATE_TEST_SUITE_P(                                                                     \
      , suite, ::testing::Values(EngineKind::kWasm, EngineKind::kNative, EngineKind::kForeign), \
      [](const auto& info) { return NameOf(info.param); })

}  // namespace caisson::testing
