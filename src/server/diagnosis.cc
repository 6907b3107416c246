#include "server/diagnosis.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "base/run_on.h"
#include "engine/native/native_engine.h"
#include "engine/native/packages.h"
#include "engine/wasm/base_check.h"
#include "engine/wasm/wasm_engine.h"
#include "jail/probe.h"
#include "server/backends.h"
#include "server/installation.h"
#include "server/version.h"
#include "wire/value.h"

namespace caisson {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kFreshRuns = 100;
constexpr int kNativeRuns = 20;
constexpr int kTierRuns = 2;
constexpr const char* kPythonLibrary = "/usr/lib/python3.11/os.py";
constexpr std::string_view kDigits = "0123456789abcdef";

std::string Hex(std::span<const std::uint8_t> bytes) {
  std::string text;
  for (const std::uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

class NoEvents final : public RunEvents {
 public:
  void OnOutput(OutputStream /*stream*/, std::string_view /*bytes*/) override {}
  void OnCall(ToolCall /*call*/) override {}
};

struct Measured {
  std::chrono::nanoseconds first_run{};
  std::chrono::nanoseconds fresh_run{};
  std::vector<std::string> missing_walls;
};

asio::awaitable<Result<Outcome>> RunOnce(Engine& engine) {
  auto cell = co_await engine.Open({.owner = OwnerId("doctor")});
  if (!cell) co_return std::move(cell).error();
  NoEvents events;
  co_return co_await (*cell)->Run({.code = "1+1"}, events, AfterRun::kDiscard);
}

bool IsTwo(const Outcome& outcome) {
  return outcome.status == RunStatus::kCompleted && outcome.result == Value(std::int64_t{2});
}

asio::awaitable<Result<Measured>> MeasureRuns(Engine& engine, int runs) {
  Measured measured;
  std::vector<std::chrono::nanoseconds> times;
  for (int i = 0; i <= runs; ++i) {
    const auto begin = Clock::now();
    auto outcome = co_await RunOnce(engine);
    const auto took = Clock::now() - begin;
    if (!outcome) co_return std::move(outcome).error();
    if (!IsTwo(*outcome)) co_return Error(ErrorCode::kInternal, "1+1 did not give 2");
    if (i == 0) {
      measured.first_run = took;
      measured.missing_walls = std::move(outcome->boundary.missing);
    } else {
      times.push_back(took);
    }
  }
  std::ranges::nth_element(times, times.begin() + runs / 2);
  measured.fresh_run = times[static_cast<std::size_t>(runs / 2)];
  co_return measured;
}

// Starts an engine with one lane and times it.
template <typename T>
Result<std::unique_ptr<T>> TryEngine(jail::Tier tier, int runs, EngineVerdict& verdict,
                                     const std::function<Result<std::unique_ptr<T>>()>& create) {
  const auto begin = Clock::now();
  TRY_ASSIGN(auto engine, create());
  const auto ready = Clock::now() - begin;
  TRY_ASSIGN(Measured measured, WaitFor(engine->lane_executor(0), MeasureRuns(*engine, runs)));
  verdict.latency = StartLatency{.tier = std::string(jail::ToString(tier)),
                                 .engine = ready,
                                 .first_run = measured.first_run,
                                 .fresh_run = measured.fresh_run,
                                 .fresh_runs = runs};
  verdict.missing_walls = std::move(measured.missing_walls);
  return engine;
}

Result<void> ExamineWasm(const std::string& installation, jail::Tier tier, int runs,
                         EngineVerdict& verdict) {
  verdict.fix = "install Caisson again, or build it with `make build`";
  TRY_ASSIGN(const Installation found, FindInstallation(installation));
  verdict.worker_path = found.worker_path;
  verdict.base_path = found.base_path;
  TRY_ASSIGN(const BaseCheck base, CheckBase(found.base_path));
  verdict.base_sha256 = Hex(base.sha256);
  verdict.fix.clear();  // The files are right. Later failures name their own remedies.
  TRY_ASSIGN(const auto engine, TryEngine<WasmEngine>(tier, runs, verdict, [&] {
               return WasmEngine::Create({.worker_path = found.worker_path,
                                          .base_path = found.base_path,
                                          .tier = tier,
                                          .lanes = 1});
             }));
  verdict.build_id = Hex(engine->build()->build_id);
  return {};
}

Result<void> ExamineNative(const std::string& installation, jail::Tier tier, int runs,
                           EngineVerdict& verdict) {
  verdict.fix = "install Caisson again, or build it with `make build`";
  TRY_ASSIGN(const Installation found, FindInstallation(installation));
  if (found.fork_server_path.empty()) {
    return Error(ErrorCode::kNotFound,
                 "there is no caisson-forkserver beside " + found.worker_path);
  }
  verdict.fork_server_path = found.fork_server_path;
  verdict.packages = AllowedPackages(InstalledPackages(""), UsualPackages());
  verdict.fix = std::filesystem::exists(kPythonLibrary)
                    ? ""
                    : "apt-get install python3.11 libpython3.11-stdlib";
  TRY(TryEngine<NativeEngine>(tier, runs, verdict, [&] {
    return NativeEngine::Create({.fork_server_path = found.fork_server_path,
                                 .tier = tier,
                                 .scratch = ScratchPlace(""),
                                 .lanes = 1});
  }));
  const bool has_numpy = std::ranges::binary_search(verdict.packages, std::string("numpy"));
  verdict.fix = has_numpy ? "" : "apt-get install python3-numpy python3-pandas python3-matplotlib";
  return {};
}

template <typename Examine>
EngineVerdict DiagnoseEngine(std::string name, const std::string& installation, jail::Tier tier,
                             int runs, Examine examine) {
  EngineVerdict verdict;
  verdict.name = std::move(name);
  const Result<void> examined = examine(installation, tier, runs, verdict);
  verdict.available = examined.has_value();
  if (!examined) verdict.why_not = examined.error().message();
  return verdict;
}

// The probes try single walls. Only a real start shows that all walls work together, so each tier
// that the probes allow is started once, with each engine.
BoundaryVerdict StartTier(jail::TierVerdict probed, const std::string& installation) {
  BoundaryVerdict verdict{.tier = std::string(jail::ToString(probed.tier)),
                          .available = probed.available,
                          .why_not = probed.why_not,
                          .native_why_not = std::move(probed.why_not)};
  if (!probed.available) return verdict;
  const EngineVerdict wasm =
      DiagnoseEngine("wasm", installation, probed.tier, kTierRuns, ExamineWasm);
  const bool files_are_wrong = !wasm.fix.empty();
  if (!wasm.available && !files_are_wrong) {
    verdict.available = false;
    verdict.why_not = wasm.why_not;
  }
  const EngineVerdict native =
      DiagnoseEngine("native", installation, probed.tier, kTierRuns, ExamineNative);
  verdict.native_available = native.available;
  verdict.native_why_not = native.why_not;
  return verdict;
}

// For a machine without tier namespace. Each line is one alternative, the strongest first.
std::vector<std::string> AdviceFor(jail::Tier best) {
  std::vector<std::string> advice = {
      "in Docker or podman: start the container with --security-opt seccomp=caisson.seccomp.json "
      "(packaging/caisson.seccomp.json in Caisson's source)",
      "in Kubernetes: hostUsers: false, seccompProfile: {type: Localhost, localhostProfile: "
      "caisson.seccomp.json}; procMount: Unmasked if mounting is still refused"};
  if (best == jail::Tier::kLandlock) {
    advice.emplace_back(
        "with fewer walls: caisson run --tier landlock, or tier = \"landlock\" in the table "
        "[engine] of the configuration");
  }
  return advice;
}

Value Text(const std::string& text) {
  return text.empty() ? Value() : Value(text);
}
Value Microseconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

template <typename T, typename Make>
Value ListOf(const std::vector<T>& items, Make make) {
  List list;
  for (const T& item : items) list.items.push_back(make(item));
  return list;
}

using Fields = std::vector<std::pair<Value, Value>>;
Value Object(Fields fields) {
  return Dict{std::move(fields)};
}
Value Key(const char* name) {
  return std::string(name);
}

Value FeatureFields(const FeatureVerdict& feature) {
  return Object({{Key("name"), feature.name},
                 {Key("available"), feature.available},
                 {Key("detail"), Text(feature.detail)},
                 {Key("fix"), Text(feature.fix)}});
}

Value TierFields(const BoundaryVerdict& tier) {
  return Object({{Key("tier"), tier.tier},
                 {Key("available"), tier.available},
                 {Key("why_not"), Text(tier.why_not)},
                 {Key("native_available"), tier.native_available},
                 {Key("native_why_not"), Text(tier.native_why_not)}});
}

Value LatencyFields(const std::optional<StartLatency>& latency) {
  if (!latency) return {};
  return Object({{Key("tier"), latency->tier},
                 {Key("engine_us"), Microseconds(latency->engine)},
                 {Key("first_run_us"), Microseconds(latency->first_run)},
                 {Key("fresh_run_us"), Microseconds(latency->fresh_run)},
                 {Key("fresh_runs"), std::int64_t{latency->fresh_runs}}});
}

Value Texts(const std::vector<std::string>& texts) {
  return ListOf(texts, [](const std::string& text) { return Value(text); });
}

Value EngineFields(const EngineVerdict& engine) {
  return Object({{Key("name"), engine.name},
                 {Key("available"), engine.available},
                 {Key("why_not"), Text(engine.why_not)},
                 {Key("fix"), Text(engine.fix)},
                 {Key("worker"), Text(engine.worker_path)},
                 {Key("build_id"), Text(engine.build_id)},
                 {Key("base"), Text(engine.base_path)},
                 {Key("base_sha256"), Text(engine.base_sha256)},
                 {Key("fork_server"), Text(engine.fork_server_path)},
                 {Key("packages"), Texts(engine.packages)},
                 {Key("missing_walls"), Texts(engine.missing_walls)},
                 {Key("start_latency"), LatencyFields(engine.latency)}});
}

}  // namespace

bool Diagnosis::Healthy() const {
  return std::ranges::any_of(engines, [&](const EngineVerdict& engine) {
    return engine.name == "wasm" && engine.available && engine.latency->tier == default_tier;
  });
}

Diagnosis Diagnose(const std::string& installation) {
  jail::Report probe = jail::Probe();
  Diagnosis diagnosis;
  diagnosis.version = Version();
  diagnosis.kernel = std::move(probe.kernel);
  for (jail::Feature& feature : probe.features) {
    diagnosis.features.push_back({.name = std::move(feature.name),
                                  .available = feature.available,
                                  .detail = std::move(feature.detail),
                                  .fix = std::move(feature.fix)});
  }
  jail::Tier best = jail::Tier::kNone;
  for (jail::TierVerdict& probed : probe.tiers) {
    const jail::Tier tier = probed.tier;
    diagnosis.tiers.push_back(StartTier(std::move(probed), installation));
    if (diagnosis.tiers.back().available && best == jail::Tier::kNone) best = tier;
  }
  diagnosis.default_tier = kDefaultTier;
  diagnosis.best_tier = jail::ToString(best);
  if (diagnosis.best_tier != kDefaultTier) diagnosis.advice = AdviceFor(best);
  diagnosis.engines.push_back(DiagnoseEngine("wasm", installation, best, kFreshRuns, ExamineWasm));
  diagnosis.engines.push_back(
      DiagnoseEngine("native", installation, best, kNativeRuns, ExamineNative));
  return diagnosis;
}

std::string ToJson(const Diagnosis& diagnosis) {
  const Value value = Object({{Key("version"), diagnosis.version},
                              {Key("kernel"), diagnosis.kernel},
                              {Key("healthy"), diagnosis.Healthy()},
                              {Key("default_tier"), diagnosis.default_tier},
                              {Key("best_tier"), diagnosis.best_tier},
                              {Key("advice"), Texts(diagnosis.advice)},
                              {Key("tiers"), ListOf(diagnosis.tiers, TierFields)},
                              {Key("features"), ListOf(diagnosis.features, FeatureFields)},
                              {Key("engines"), ListOf(diagnosis.engines, EngineFields)}});
  auto text = ToJson(value);
  return text ? *std::move(text) : std::string("null");  // JSON can represent all of this data.
}

}  // namespace caisson
