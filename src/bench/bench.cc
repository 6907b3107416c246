#include "bench/bench.h"

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/agent_door.h"
#include "bench/code.h"
#include "bench/cold.h"
#include "bench/compute.h"
#include "bench/latency.h"
#include "bench/library_door.h"
#include "bench/load.h"
#include "bench/mcp_http.h"
#include "bench/native.h"
#include "bench/ping_pong.h"
#include "bench/reset.h"
#include "bench/rest_door.h"
#include "bench/resuming.h"
#include "bench/saving.h"
#include "bench/stdio_door.h"
#include "engine/native/native_engine.h"
#include "engine/native/packages.h"
#include "engine/wasm/wasm_engine.h"
#include "jail/tier.h"
#include "server/backends.h"
#include "server/installation.h"

namespace caisson::bench {
namespace {

using std::chrono::milliseconds;

// The number of spare native cells, and how many are used before others are made.
constexpr std::size_t kSpareCells = 16;
constexpr int kBurst = 8;
constexpr milliseconds kRefilled(5);      // Time in which one cell is made again.
constexpr milliseconds kBetweenRuns(20);  // The pace of a user who repeats runs.
constexpr std::size_t kConnections = 64;  // Of the crowd at the REST door.

// The number of samples of each metric.
struct Amounts {
  int runs = 5000;
  int runs_after_1ms = 500;
  int runs_after_10ms = 200;
  int calls_runs = 500;
  int gathered_runs = 100;
  int sessions = 500;
  int periods = 5;
  milliseconds period{1000};
  int timeouts = 50;
  int resets = 5000;
  int saved_cells = 300;
  std::size_t cells = 1000;
  int cold_starts = 30;
  int compute_rounds = 5;
  int native_runs = 500;
  int native_kills = 100;
  int http_calls = 2000;
  int door_runs = 2000;
  int agent_turns = 1000;
  int numpy_runs = 50;
  int ping_pongs = 2000;
};

constexpr Amounts kQuick{.runs = 500,
                         .runs_after_1ms = 50,
                         .runs_after_10ms = 20,
                         .calls_runs = 50,
                         .gathered_runs = 10,
                         .sessions = 50,
                         .periods = 2,
                         .period = milliseconds(250),
                         .timeouts = 10,
                         .resets = 500,
                         .saved_cells = 30,
                         .cells = 200,
                         .cold_starts = 5,
                         .compute_rounds = 1,
                         .native_runs = 50,
                         .native_kills = 10,
                         .http_calls = 200,
                         .door_runs = 200,
                         .agent_turns = 50,
                         .numpy_runs = 10,
                         .ping_pongs = 500};

class Measurement {
 public:
  Measurement(const Options& options, Installation found, jail::Tier tier)
      : options_(options),
        amounts_(options.quick ? kQuick : Amounts()),
        found_(std::move(found)),
        tier_(tier) {
    report_.machine = ThisMachine();
    report_.machine.tier = jail::ToString(tier);
  }

  Result<Report> All() {
    TRY(OneAfterAnother());
    TRY(ManyAtOnce());
    TRY(Native());
    TRY(Doors());
    TRY(Processes());
    return std::move(report_);
  }

 private:
  Result<std::unique_ptr<WasmEngine>> NewEngine(std::size_t lanes) {
    return WasmEngine::Create({.worker_path = found_.worker_path,
                               .base_path = found_.base_path,
                               .tier = tier_,
                               .lanes = lanes});
  }

  void Add(std::string name, Samples samples) {
    if (!Wanted(name)) return;
    report_.metrics.push_back({.name = std::move(name), .value = Summarise(std::move(samples))});
  }

  // Returns true if this name, or a name in this group, was asked for.
  bool Wanted(std::string_view name) const {
    return name.starts_with(options_.only) || std::string_view(options_.only).starts_with(name);
  }
  bool WantedAny(std::initializer_list<std::string_view> names) const {
    return std::ranges::any_of(names, [this](std::string_view name) { return Wanted(name); });
  }

  // Skips what this machine cannot measure. Any other error ends the benchmark.
  Result<void> Take(const std::string& name, std::invocable auto measure) {
    if (!Wanted(name)) return {};
    options_.progress(name);
    Result<Samples> samples = measure();
    if (samples) {
      Add(name, *std::move(samples));
    } else if (samples.error().code() == ErrorCode::kUnavailable) {
      Skip(name, samples.error().message());
    } else {
      return std::move(samples).error().Context(name);
    }
    return {};
  }

  void Skip(std::string name, std::string why) {
    report_.skipped.push_back({.name = std::move(name), .why = std::move(why)});
  }

  Result<void> Fresh(const std::string& name, LatencyPlan plan) {
    return Take(name, [&] { return FreshRuns(*engine_, std::move(plan)); });
  }

  Result<void> OneAfterAnother() {
    options_.progress("starting a worker");
    TRY_ASSIGN(engine_, NewEngine(1));
    const Value two(std::int64_t{2});
    TRY(Fresh("wasm.fresh_run_us",
              {.request = {.code = "1+1"}, .result = two, .runs = amounts_.runs}));
    TRY(Fresh("wasm.fresh_run_idle1ms_us", {.request = {.code = "1+1"},
                                            .result = two,
                                            .runs = amounts_.runs_after_1ms,
                                            .idle = milliseconds(1)}));
    TRY(Fresh("wasm.fresh_run_idle10ms_us", {.request = {.code = "1+1"},
                                             .result = two,
                                             .runs = amounts_.runs_after_10ms,
                                             .idle = milliseconds(10)}));
    TRY(Fresh("wasm.print_run_us",
              {.request = {.code = "print('hi')"}, .output = "hi\n", .runs = amounts_.runs}));
    TRY(Take("wasm.calls_100_us",
             [&] { return HundredCalls(*engine_, {.runs = amounts_.calls_runs}); }));
    TRY(Take("wasm.gathered_1000_us",
             [&] { return ThousandGathered(*engine_, {.runs = amounts_.gathered_runs}); }));
    TRY(Take("wasm.tools_50_us",
             [&] { return FiftyTools(*engine_, {.runs = amounts_.calls_runs}); }));
    TRY(Take("wasm.mounted_run_us", [&] {
      return MountedRuns(*engine_, MountMode::kReadOnly,
                         {.runs = amounts_.calls_runs, .pause = kRefilled});
    }));
    TRY(Take("check_200_lines_us",
             [&] { return CheckedLines(*engine_, {.runs = amounts_.calls_runs}); }));
    TRY(Take("wasm.session_10_runs_us",
             [&] { return TenRunsInOneCell(*engine_, amounts_.sessions); }));
    TRY(Take("wasm.timeout_overshoot_us",
             [&] { return TimeoutOvershoot(*engine_, amounts_.timeouts); }));
    TRY(Take("wasm.reset_us", [&] { return ResetTimes(found_.base_path, amounts_.resets); }));
    TRY(Saved());
    TRY(Resumed());
    TRY(Computed());
    engine_.reset();
    return {};
  }

  Result<void> Saved() {
    if (!WantedAny({"wasm.save_us", "wasm.restore_us", "wasm.blob_bytes"})) return {};
    options_.progress("wasm.save_us");
    auto saving = SaveAndRestore(*engine_, amounts_.saved_cells);
    if (!saving) return std::move(saving).error().Context("save and restore");
    Add("wasm.save_us", std::move(saving->save_us));
    Add("wasm.restore_us", std::move(saving->restore_us));
    Add("wasm.blob_bytes", std::move(saving->blob_bytes));
    return {};
  }

  Result<void> Resumed() {
    if (!Wanted("resume_")) return {};
    options_.progress("resume_parked_us");
    auto resuming = ResumeRuns(*engine_, amounts_.saved_cells);
    if (!resuming) return std::move(resuming).error().Context("resume");
    Add("resume_parked_us", std::move(resuming->parked_us));
    Add("resume_saved_us", std::move(resuming->saved_us));
    Add("resume_store_us", std::move(resuming->store_us));
    return {};
  }

  Result<void> Computed() {
    if (!Wanted("wasm.compute")) return {};
    const auto python = FindPython();
    if (!python) {
      Skip("wasm.compute_ratio", "there is no python3");
      return {};
    }
    options_.progress("wasm.compute_ratio");
    TRY_ASSIGN(report_.machine.python, PythonVersion(*python));
    auto compute = CompareWithPython(*engine_, *python, amounts_.compute_rounds);
    if (!compute) return std::move(compute).error().Context("compare with python3");
    Add("wasm.compute_ratio", std::move(compute->geometric_means));
    for (auto& program : compute->programs) {
      Add("wasm.compute." + program.name + "_ratio", std::move(program.ratios));
    }
    return {};
  }

  Result<void> ManyAtOnce() {
    TRY_ASSIGN(engine_, NewEngine(0));
    TRY(Take("wasm.runs_per_second",
             [&] { return RunsPerSecond(*engine_, amounts_.periods, amounts_.period); }));
    TRY(Memory("wasm.cell_bytes", LiveCellBytes));
    TRY(Memory("wasm.parked_cell_bytes", ParkedCellBytes));
    engine_.reset();
    return {};
  }

  // Uses fresh workers, in which nothing has grown yet.
  Result<void> Memory(const std::string& name,
                      Result<double> (*measure)(WasmEngine&, std::size_t)) {
    if (!Wanted(name)) return {};
    options_.progress(name);
    engine_.reset();
    TRY_ASSIGN(engine_, NewEngine(0));
    auto bytes = measure(*engine_, amounts_.cells);
    if (!bytes) return Take(name, [&] { return Result<Samples>(std::move(bytes).error()); });
    // One measurement over many cells: their mean and their number.
    report_.metrics.push_back(
        {.name = name, .value = {.median = *bytes, .p99 = *bytes, .n = amounts_.cells}});
    return {};
  }

  // For metrics that engine native has in tier namespace only.
  Result<void> TakeInNamespaces(const std::string& name, std::invocable auto measure) {
    if (tier_ == jail::Tier::kNamespace) return Take(name, measure);
    if (Wanted(name)) Skip(name, "engine native has it only in tier namespace");
    return {};
  }

  Result<std::unique_ptr<NativeEngine>> NewNative(std::size_t lanes, std::size_t spare_cells,
                                                  std::vector<std::string> preload = {}) {
    return NativeEngine::Create({.fork_server_path = found_.fork_server_path,
                                 .tier = tier_,
                                 .scratch = ScratchPlace(""),
                                 .lanes = lanes,
                                 .kinds = {{.preload = std::move(preload)}},
                                 .spare_cells = spare_cells});
  }

  Result<void> Native() {
    if (!Wanted("native.")) return {};
    if (found_.fork_server_path.empty()) {
      Skip("native.*", "engine native is not installed");
      return {};
    }
    TRY(NativeOneAfterAnother());
    TRY(NativeGathered());
    TRY(NativeNumpy());
    TRY(NativeWithNeeds());
    TRY(Take("native.empty_pool_us", [&]() -> Result<Samples> {
      TRY_ASSIGN(auto empty, NewNative(1, 0));
      return OnDemand(*empty, amounts_.native_runs);
    }));
    return Take("native.runs_per_second", [&]() -> Result<Samples> {
      TRY_ASSIGN(auto all, NewNative(0, kSpareCells));
      return RunsPerSecond(*all, amounts_.periods, amounts_.period);
    });
  }

  Result<void> NativeOneAfterAnother() {
    TRY_ASSIGN(auto engine, NewNative(1, kSpareCells));
    // The pid namespace distinguishes cells from the fork server.
    TRY(TakeInNamespaces("native.cell_bytes", [] { return WaitingCellBytes(kSpareCells); }));
    if (WantedAny({"native.fresh_run_us", "native.outcome_us"})) {
      options_.progress("native.fresh_run_us");
      auto plain = NativeRuns(*engine, {.request = {.code = "1+1"},
                                        .result = std::int64_t{2},
                                        .runs = amounts_.native_runs,
                                        .burst = kBurst});
      if (!plain) return std::move(plain).error().Context("native.fresh_run_us");
      Add("native.fresh_run_us", std::move(plain->report_us));
      Add("native.outcome_us", std::move(plain->outcome_us));
    }
    TRY(Take("native.calls_100_us", [&] {
      return HundredCalls(*engine, {.runs = amounts_.gathered_runs, .pause = kRefilled});
    }));
    return Take("native.kill_us", [&] { return KillTimes(*engine, amounts_.native_kills); });
  }

  // With asyncio already imported, as for all code that imports it in a server.
  Result<void> NativeGathered() {
    return Take("native.gathered_1000_us", [&]() -> Result<Samples> {
      TRY_ASSIGN(auto engine, NewNative(1, kSpareCells, {"asyncio"}));
      return ThousandGathered(*engine, {.runs = amounts_.gathered_runs, .pause = kRefilled});
    });
  }

  Result<void> NativeNumpy() {
    return Take("native.numpy_run_us", [&]() -> Result<Samples> {
      auto engine = NewNative(1, kSpareCells, {"numpy"});
      if (!engine) return Error(ErrorCode::kUnavailable, engine.error().message());
      TRY_ASSIGN(auto times, NativeRuns(**engine, {.request = {.code = "import numpy\n1+1"},
                                                   .result = std::int64_t{2},
                                                   .runs = amounts_.native_runs,
                                                   .burst = kBurst}));
      return std::move(times.report_us);
    });
  }

  // Runs whose cells can be prepared only if their needs are known. Through a CodeRunner, to the
  // outcome.
  Result<void> NativeWithNeeds() {
    if (!WantedAny(
            {"native.mounted_run_us", "native.mounted_rw_run_us", "native.processes_run_us"})) {
      return {};
    }
    TRY_ASSIGN(auto engine, NewNative(1, kSpareCells));
    const CodePlan plan{.runs = amounts_.gathered_runs, .pause = kBetweenRuns};
    TRY(Take("native.mounted_run_us",
             [&] { return MountedRuns(*engine, MountMode::kReadOnly, plan); }));
    TRY(TakeInNamespaces("native.mounted_rw_run_us",
                         [&] { return MountedRuns(*engine, MountMode::kReadWrite, plan); }));
    return TakeInNamespaces("native.processes_run_us",
                            [&] { return FourProcesses(*engine, plan); });
  }

  // What users get: from outside, where each door is. The ping-pong of the same minute shows the
  // speed of the machine.
  Result<void> Doors() {
    TRY(Take("mcp_http_overhead_us", [&] {
      return McpHttpOverhead(report_.machine.tier, options_.installation, amounts_.http_calls);
    }));
    TRY(Take("ping_pong_us", [&] { return PingPong(amounts_.ping_pongs); }));
    TRY(Take("library_run_us", [&] { return Library("wasm", amounts_.door_runs); }));
    if (found_.fork_server_path.empty()) {
      if (Wanted("library_native_run_us")) {
        Skip("library_native_run_us", "engine native is not installed");
      }
    } else {
      TRY(Take("library_native_run_us", [&] { return Library("native", amounts_.native_runs); }));
    }
    if (options_.program.empty()) return {};
    TRY(Stdio());
    TRY(Rest());
    return Agents();
  }

  Result<Samples> Library(const char* engine, int runs) const {
    return LibraryRuns({.engine = engine,
                        .tier = report_.machine.tier,
                        .installation = options_.installation,
                        .runs = runs});
  }

  ServerPlan Server() const {
    return {.program = options_.program,
            .tier = report_.machine.tier,
            .installation = options_.installation};
  }

  Result<void> Stdio() {
    TRY(Take("mcp_stdio_run_us", [&] {
      return StdioCalls(
          {.server = Server(), .code = "1+1", .result = 2, .calls = amounts_.door_runs});
    }));
    const auto packages = InstalledPackages("");
    if (found_.fork_server_path.empty() || !std::ranges::binary_search(packages, "numpy")) {
      if (Wanted("mcp_stdio_numpy_us")) Skip("mcp_stdio_numpy_us", "engine native has no numpy");
      return {};
    }
    return Take("mcp_stdio_numpy_us", [&] {
      return StdioCalls({.server = Server(),
                         .code = "import numpy as np; int(np.arange(10).sum())",
                         .result = 45,
                         .warm_up_calls = 1,
                         .calls = amounts_.numpy_runs});
    });
  }

  Result<void> Agents() {
    if (!WantedAny({"responses_first_delta_us", "agent_turn_us"})) return {};
    TRY_ASSIGN(const AgentDoor door, AgentDoor::Open(Server()));
    TRY(Take("responses_first_delta_us", [&] { return door.FirstDeltas(amounts_.agent_turns); }));
    return Take("agent_turn_us", [&] { return door.CodeTurns(amounts_.agent_turns); });
  }

  Result<void> Rest() {
    if (!WantedAny({"rest_run_us", "rest_healthz_us", "rest_runs_per_second", "rest_p99_us"})) {
      return {};
    }
    TRY_ASSIGN(const RestDoor door, RestDoor::Open(Server()));
    TRY(Take("rest_healthz_us", [&] { return door.Healthz(amounts_.door_runs); }));
    TRY(Take("rest_run_us", [&] { return door.Runs(amounts_.door_runs); }));
    if (!WantedAny({"rest_runs_per_second", "rest_p99_us"})) return {};
    options_.progress("rest_runs_per_second");
    auto load = door.ManyRuns(kConnections, amounts_.periods, amounts_.period);
    if (!load) return std::move(load).error().Context("rest_runs_per_second");
    Add("rest_runs_per_second", std::move(load->per_second));
    Add("rest_p99_us", std::move(load->p99_us));
    return {};
  }

  Result<void> Processes() {
    if (!options_.program.empty()) {
      std::vector<std::string> argv{options_.program, "run", "--tier", report_.machine.tier};
      if (!options_.installation.empty()) {
        argv.insert(argv.end(), {"--worker-dir", options_.installation});
      }
      TRY(Take("cold_run_us", [&] {
        return ColdStarts({.argv = std::move(argv),
                           .input = "1+1",
                           .output = "2\n",
                           .runs = amounts_.cold_starts});
      }));
    }
    return Take("python_cold_us", [&]() -> Result<Samples> {
      const auto python = FindPython();
      if (!python) return Error(ErrorCode::kUnavailable, "there is no python3");
      return ColdStarts({.argv = {*python, "-I", "-c", "print(1)"},
                         .output = "1\n",
                         .runs = amounts_.cold_starts});
    });
  }

  const Options& options_;
  const Amounts amounts_;
  const Installation found_;
  const jail::Tier tier_;
  std::unique_ptr<WasmEngine> engine_;
  Report report_;
};

}  // namespace

Result<Report> Measure(const Options& options) {
  TRY_ASSIGN(const jail::Tier tier, jail::ParseTier(options.tier));
  TRY_ASSIGN(Installation found, FindInstallation(options.installation));
  TRY_ASSIGN(Report report, Measurement(options, std::move(found), tier).All());
  if (report.metrics.empty() && report.skipped.empty()) {
    return Error(ErrorCode::kInvalidArgument, "no metric's name begins with \"" + options.only +
                                                  "\"; `caisson bench` prints all");
  }
  return report;
}

}  // namespace caisson::bench
