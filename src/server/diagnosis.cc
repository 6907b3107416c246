#include "server/diagnosis.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

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

asio::awaitable<Result<Measured>> MeasureRuns(Engine& engine) {
  Measured measured;
  std::vector<std::chrono::nanoseconds> times;
  for (int i = 0; i <= kFreshRuns; ++i) {
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
  std::ranges::nth_element(times, times.begin() + kFreshRuns / 2);
  measured.fresh_run = times[kFreshRuns / 2];
  co_return measured;
}

Result<Measured> Measure(WasmEngine& engine) {
  std::optional<Result<Measured>> measured;  // Filled on the lane while this thread waits for it.
  const auto fill = [&]() -> asio::awaitable<void> { measured = co_await MeasureRuns(engine); };
  asio::co_spawn(engine.lane_executor(0), fill, asio::use_future).get();
  return *std::move(measured);
}

// Starts the engine in the tier and times it.
Result<void> TryEngine(const Installation& found, jail::Tier tier, Diagnosis& diagnosis,
                       EngineVerdict& verdict) {
  const auto begin = Clock::now();
  TRY_ASSIGN(auto engine, WasmEngine::Create({.worker_path = found.worker_path,
                                              .base_path = found.base_path,
                                              .tier = tier,
                                              .lanes = 1}));
  const auto ready = Clock::now() - begin;
  verdict.build_id = Hex(engine->build().build_id);
  TRY_ASSIGN(Measured measured, Measure(*engine));
  diagnosis.latency = StartLatency{.tier = std::string(jail::ToString(tier)),
                                   .engine = ready,
                                   .first_run = measured.first_run,
                                   .fresh_run = measured.fresh_run,
                                   .fresh_runs = kFreshRuns};
  diagnosis.missing_walls = std::move(measured.missing_walls);
  return {};
}

Result<void> ExamineWasm(const std::string& installation, jail::Tier tier, Diagnosis& diagnosis,
                         EngineVerdict& verdict) {
  verdict.fix = "install Caisson again, or build it with `make build`";
  TRY_ASSIGN(const Installation found, FindInstallation(installation));
  verdict.worker_path = found.worker_path;
  verdict.base_path = found.base_path;
  TRY_ASSIGN(const BaseCheck base, CheckBase(found.base_path));
  verdict.base_sha256 = Hex(base.sha256);
  verdict.fix.clear();  // The files are right: what fails from here on names its own remedy.
  return TryEngine(found, tier, diagnosis, verdict);
}

EngineVerdict DiagnoseWasm(const std::string& installation, jail::Tier tier, Diagnosis& diagnosis) {
  EngineVerdict verdict;
  verdict.name = "wasm";
  const auto examined = ExamineWasm(installation, tier, diagnosis, verdict);
  verdict.available = examined.has_value();
  if (!examined) verdict.why_not = examined.error().message();
  return verdict;
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
                 {Key("why_not"), Text(tier.why_not)}});
}

Value EngineFields(const EngineVerdict& engine) {
  return Object({{Key("name"), engine.name},
                 {Key("available"), engine.available},
                 {Key("why_not"), Text(engine.why_not)},
                 {Key("fix"), Text(engine.fix)},
                 {Key("worker"), Text(engine.worker_path)},
                 {Key("build_id"), Text(engine.build_id)},
                 {Key("base"), Text(engine.base_path)},
                 {Key("base_sha256"), Text(engine.base_sha256)}});
}

Value LatencyFields(const std::optional<StartLatency>& latency) {
  if (!latency) return {};
  return Object({{Key("tier"), latency->tier},
                 {Key("engine_us"), Microseconds(latency->engine)},
                 {Key("first_run_us"), Microseconds(latency->first_run)},
                 {Key("fresh_run_us"), Microseconds(latency->fresh_run)},
                 {Key("fresh_runs"), std::int64_t{latency->fresh_runs}}});
}

}  // namespace

bool Diagnosis::Healthy() const {
  return latency && latency->tier == default_tier &&
         std::ranges::any_of(engines, &EngineVerdict::available);
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
  for (jail::TierVerdict& tier : probe.tiers) {
    diagnosis.tiers.push_back({.tier = std::string(jail::ToString(tier.tier)),
                               .available = tier.available,
                               .why_not = std::move(tier.why_not)});
  }
  diagnosis.default_tier = kDefaultTier;
  diagnosis.best_tier = jail::ToString(probe.best);
  diagnosis.engines.push_back(DiagnoseWasm(installation, probe.best, diagnosis));
  EngineVerdict& native = diagnosis.engines.emplace_back();
  native.name = "native";
  native.why_not = "not part of this version";
  return diagnosis;
}

std::string ToJson(const Diagnosis& diagnosis) {
  const Value value =
      Object({{Key("version"), diagnosis.version},
              {Key("kernel"), diagnosis.kernel},
              {Key("healthy"), diagnosis.Healthy()},
              {Key("default_tier"), diagnosis.default_tier},
              {Key("best_tier"), diagnosis.best_tier},
              {Key("tiers"), ListOf(diagnosis.tiers, TierFields)},
              {Key("features"), ListOf(diagnosis.features, FeatureFields)},
              {Key("missing_walls"), ListOf(diagnosis.missing_walls,
                                            [](const std::string& wall) { return Value(wall); })},
              {Key("engines"), ListOf(diagnosis.engines, EngineFields)},
              {Key("start_latency"), LatencyFields(diagnosis.latency)}});
  auto text = ToJson(value);
  return text ? *std::move(text) : std::string("null");  // Plain data: JSON can hold all of it.
}

}  // namespace caisson
