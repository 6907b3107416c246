// Many runs of every kind in parallel, while workers, fork servers and cells are killed: every
// answer is right, and in the end nothing has grown and nothing is left.
//
//   integration_soak wasm|native RUNS
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <functional>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "jail/testing/namespaces.h"
#include "tests/integration/census.h"
#include "tests/integration/guest.h"

namespace caisson::testing {
namespace {

using namespace std::chrono_literals;

constexpr int kDrivers = 4;
constexpr std::size_t kLanes = 2;
// One run in this many is followed by the death of a worker; replacing a fork server is more
// expensive.
constexpr unsigned kKillEvery = 400;
// Time until every process has its replacement at the end.
constexpr std::chrono::seconds kSettling{60};
// Allowance for malloc and the kernel; a leak of a hundred bytes per run would exceed it.
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
// Sanitizers keep freed memory and shadow it; they find leaks themselves.
constexpr std::uint64_t kGrowthBytes = std::uint64_t{1} << 30;
#else
constexpr std::uint64_t kGrowthBytes = 16u << 20;
#endif

struct Kind {
  const char* name;
  int weight;
  std::function<RunRequest(std::mt19937&)> request;
  std::function<bool(const RunRequest&, const Outcome&)> is_right;
};

bool Ends(const Outcome& outcome, RunStatus status, RunReason reason) {
  return outcome.status == status && outcome.reason == reason;
}

// Enough time on a busy machine; kinds that must reach the limit set their own.
constexpr Limits kPatient{.wall_time = 100s, .cpu_time = 100s};

RunRequest Fixed(std::string code, Limits limits = kPatient) {
  return {.code = std::move(code), .limits = limits, .tools = {"tool"}};
}

// Kinds that only native cells support.
std::vector<Kind> NativeKinds() {
  const auto code = [](std::string text, Limits limits = kPatient) {
    return [request = Fixed(std::move(text), limits)](std::mt19937&) { return request; };
  };
  const auto gives = [](std::int64_t number) {
    return [number](const RunRequest&, const Outcome& outcome) {
      return outcome.result == Value(number);
    };
  };
  const auto ending = [](RunStatus status, RunReason reason) {
    return [=](const RunRequest&, const Outcome& outcome) { return Ends(outcome, status, reason); };
  };
  return {
      {"has threads", 40,
       code("import threading\nn = []\nts = [threading.Thread(target=n.append, args=[tool(i)]) for "
            "i "
            "in range(4)]\nfor t in ts: t.start()\nfor t in ts: t.join()\nsum(n)"),
       gives(12)},
      {"leaves threads", 20,
       code("import threading, time\nfor _ in range(3): threading.Thread(target=time.sleep, "
            "args=[1000], daemon=True).start()\n5"),
       gives(5)},
      {"leaves children", 20,
       code("import os, time\nfor _ in range(3):\n  if os.fork() == 0: time.sleep(1000)\n6",
            {.processes = 8}),
       gives(6)},
      {"forks without end", 3,
       code("import os\nwhile True:\n  try: os.fork()\n  except OSError: pass",
            {.wall_time = 50ms, .processes = 8}),
       [](const RunRequest&, const Outcome& outcome) {
         return outcome.status != RunStatus::kCompleted;
       }},
      {"faults", 10, code("import ctypes; ctypes.string_at(0)"),
       ending(RunStatus::kFailed, RunReason::kCrashed)},
      {"traces", 10, code("import ctypes; ctypes.CDLL(None).syscall(101, 0, 0, 0, 0)"),
       ending(RunStatus::kFailed, RunReason::kDeniedSyscall)},
      {"forges frames", 10, code("import os\nos.write(3, b'\\xff' * 64)\ntool(1)"),
       [](const RunRequest&, const Outcome& outcome) {
         return outcome.status == RunStatus::kFailed;
       }},
  };
}

std::vector<Kind> Kinds(EngineKind engine) {
  const auto computes = [](std::mt19937& random) {
    return Fixed(std::to_string(random() % 100000) + " * 2");
  };
  const auto doubles = [](const RunRequest& request, const Outcome& outcome) {
    const auto* result = outcome.result ? outcome.result->If<std::int64_t>() : nullptr;
    return result != nullptr && *result == 2 * std::stoll(request.code);
  };
  const auto always = [](RunRequest request) {
    return [request = std::move(request)](std::mt19937&) { return request; };
  };
  const auto ending = [](RunStatus status, RunReason reason) {
    return [=](const RunRequest&, const Outcome& outcome) { return Ends(outcome, status, reason); };
  };
  const auto returns = [](Value value) {
    return [value = std::move(value)](const RunRequest&, const Outcome& outcome) {
      return outcome.result == value;
    };
  };
  std::vector<Kind> kinds{
      {"computes", 600, computes, doubles},
      {"calls", 100, always(Fixed("sum(tool(i) for i in range(10))")), returns(Value(90))},
      {"gathers", 50,
       always(Fixed("import asyncio\nsum(await asyncio.gather(*[tool(i) for i in range(5)]))")),
       returns(Value(20))},
      {"raises", 80, always(Fixed("1 / 0")), ending(RunStatus::kFailed, RunReason::kRaised)},
      {"looks for leftovers", 60,
       always(Fixed(
           "import builtins, os, sys\n"
           "[hasattr(builtins, 'left'), os.listdir('/tmp'), 'left' in globals(), len(sys.argv)]\n"
           "builtins.left = 1; left = 1; open('/tmp/left', 'w').write('x')\n"
           "open('/output/left', 'w').write('x'); sys.argv.append('left')\n"
           "'clean' if not [] else 0")),
       returns(Value(std::string("clean")))},
      {"is clean", 60,
       always(Fixed("import builtins, os, sys\n"
                    "[hasattr(builtins, 'left'), 'left' in globals(), os.listdir('/tmp') + "
                    "os.listdir('/output'),"
                    " len(sys.argv)]")),
       [](const RunRequest&, const Outcome& outcome) {
         return outcome.result && ResultJson(outcome) == "[false,false,[],1]";
       }},
      {"times out", 5, always(Fixed("while True: pass", {.wall_time = 5ms})),
       ending(RunStatus::kLimit, RunReason::kWallTime)},
      {"sleeps too long", 5, always(Fixed("import time; time.sleep(5)", {.wall_time = 5ms})),
       ending(RunStatus::kLimit, RunReason::kWallTime)},
      {"aborts", 10, always(Fixed("import os; os.abort()")),
       ending(RunStatus::kFailed, RunReason::kCrashed)},
      {"overflows", 3,
       always(Fixed("import sys\nsys.setrecursionlimit(10**9)\ndef f(n): return f(n+1)+1\n"
                    "f(0)",
                    {.memory_bytes = 64u << 20})),
       [](const RunRequest&, const Outcome& outcome) {
         return outcome.status == RunStatus::kFailed || outcome.status == RunStatus::kLimit;
       }},
      {"eats memory", 5,
       always(
           Fixed("a = []\nwhile True: a.append(bytearray(1 << 20))", {.memory_bytes = 48u << 20})),
       ending(RunStatus::kLimit, RunReason::kMemory)},
      {"floods", 5, always(Fixed("while True: print('x' * 1000)", {.wall_time = 20ms})),
       ending(RunStatus::kLimit, RunReason::kWallTime)},
      {"exits", 10, always(Fixed("import os; os._exit(3)")),
       ending(RunStatus::kFailed, RunReason::kRaised)},
      {"writes files", 20,
       always(Fixed("for i in range(20): open(f'/output/{i}', 'w').write('x' * 1000)")),
       [](const RunRequest&, const Outcome& outcome) { return outcome.files.size() == 20; }},
  };
  if (engine == EngineKind::kNative) std::ranges::move(NativeKinds(), std::back_inserter(kinds));
  return kinds;
}

// As in production: no reset is verified, and there are spare cells.
std::unique_ptr<Engine> StartAsInLife(EngineKind kind) {
  if (kind == EngineKind::kWasm) {
    auto options = WasmOptions({.lanes = kLanes});
    options.verify_reset = false;
    return StartWasm(options);
  }
  auto options = NativeOptions({.lanes = kLanes});
  options.spare_cells = NativeEngineOptions().spare_cells;
  return StartNative(options);
}

// Processes of an idle engine: a worker for each lane, or a fork server and the spare cells.
std::size_t ProcessesAtRest(EngineKind kind) {
  return kind == EngineKind::kWasm ? kLanes : kLanes * (1 + NativeEngineOptions().spare_cells);
}

class Soak {
 public:
  Soak(EngineKind kind, std::uint64_t runs)
      : kind_(kind), runs_(runs), kinds_(Kinds(kind)), engine_(StartAsInLife(kind)) {
    for (const Kind& one : kinds_) total_weight_ += one.weight;
  }

  bool Perform() {
    Drive(std::max<std::uint64_t>(runs_ / 10, 500));  // Caches fill, and memory reaches its level.
    const Census before = AtRest();
    const std::uint64_t warm = OwnResidentMemory();
    Drive(runs_);
    const Census after = AtRest();
    const std::uint64_t in_the_end = OwnResidentMemory();
    const EngineStats stats = engine_->stats();
    std::printf(
        "%llu runs, %llu workers lost, %llu cancelled, %llu crashed, memory %llu -> %llu kB\n",
        static_cast<unsigned long long>(stats.runs_ended),
        static_cast<unsigned long long>(stats.workers_lost),
        static_cast<unsigned long long>(cancelled_.load()),
        static_cast<unsigned long long>(crashed_.load()),
        static_cast<unsigned long long>(warm >> 10),
        static_cast<unsigned long long>(in_the_end >> 10));
    Expect(in_the_end <= warm + kGrowthBytes, "memory grew");
    Expect(stats.cells_live == 0, "cells are left");
    Expect(stats.waiting == 0, "somebody still waits");
    Expect(stats.runs_started == stats.runs_ended, "runs that never ended");
    Expect(after.processes.size() == ProcessesAtRest(kind_), "processes are left, or missing");
    Expect(after.descriptors <= before.descriptors + 4, "descriptors are left");
    Expect(after.mounts == before.mounts, "mounts are left");
    return wrong_ == 0;
  }

 private:
  // The last victims may still be replaced: waits until all are there, and nothing has changed for
  // a while.
  Census AtRest() const {
    const auto deadline = std::chrono::steady_clock::now() + kSettling;
    Census census = TakeCensus();
    while (std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      const Census now = TakeCensus();
      if (now == std::exchange(census, now) && now.processes.size() == ProcessesAtRest(kind_))
        break;
    }
    return census;
  }

  void Expect(bool holds, const char* otherwise) {
    if (holds) return;
    ++wrong_;
    std::printf("WRONG: %s\n", otherwise);
  }

  void Drive(std::uint64_t runs) {
    std::atomic<std::int64_t> left = static_cast<std::int64_t>(runs);
    std::vector<std::thread> drivers;
    for (unsigned i = 0; i < kDrivers; ++i) {
      drivers.emplace_back([this, &left, i] {
        std::mt19937 random(i + 1);
        while (left.fetch_sub(1) > 0) One(random, i);
      });
    }
    for (std::thread& driver : drivers) driver.join();
  }

  void One(std::mt19937& random, unsigned driver) {
    if (driver == 0 && random() % (kKillEvery / kDrivers) == 0) return KillOne(random);
    if (random() % 100 == 0) return CancelOne(random);
    int pick = static_cast<int>(random() % static_cast<unsigned>(total_weight_));
    const Kind* kind = kinds_.data();
    while (pick >= kind->weight) pick -= (kind++)->weight;
    RunRequest request = kind->request(random);
    Guest guest = Guest::Open(*engine_, "owner " + std::to_string(driver));
    guest.Start(request);
    const Outcome outcome = guest.Serve([](const ToolCall& call) {
      return Value(*call.positional.items.at(0).If<std::int64_t>() * 2);
    });
    Judge(kind->name, kind->is_right(request, outcome), outcome);
  }

  // A run may lose its worker or its own process, because we kill them; everything else must be
  // right.
  void Judge(const char* kind, bool is_right, const Outcome& outcome) {
    if (is_right) return;
    const RunError error = outcome.error.value_or(RunError{});
    const bool died_in_the_making =
        error.type == "NotRun" && error.message.find("died") != std::string::npos;
    if (error.type == "WorkerLost" || error.type == "Killed" || died_in_the_making) {
      ++crashed_;
      return;
    }
    ++wrong_;
    std::printf("WRONG: %s: %s\n", kind, Ending(outcome).c_str());
  }

  void CancelOne(std::mt19937& random) {
    Guest guest = Guest::Open(*engine_, "canceller");
    guest.Start(
        {.code = random() % 2 == 0 ? "print('on')\nwhile True: pass" : "print('on'); tool()",
         .tools = {"tool"}});
    if (random() % 2 == 0) {
      guest.Cancel();
      const Outcome outcome = guest.End();
      Judge("cancel", outcome.status == RunStatus::kCancelled, outcome);
    }  // Otherwise the cell is destroyed during its run.
    ++cancelled_;
  }

  // Kills a worker; or a fork server, one of its slots, a spare cell or a running one.
  void KillOne(std::mt19937& random) {
    const auto processes = Descendants();
    if (!processes.empty()) ::kill(processes[random() % processes.size()], SIGKILL);
  }

  const EngineKind kind_;
  const std::uint64_t runs_;
  const std::vector<Kind> kinds_;
  int total_weight_ = 0;
  std::unique_ptr<Engine> engine_;
  std::atomic<std::uint64_t> wrong_{0};
  std::atomic<std::uint64_t> cancelled_{0};
  std::atomic<std::uint64_t> crashed_{0};
};

}  // namespace
}  // namespace caisson::testing

int main(int argc, char** argv) {
  using caisson::testing::EngineKind;
  using caisson::testing::TakeCensus;
  const std::string_view engine = argc == 3 ? argv[1] : "";
  const std::string_view number = argc == 3 ? argv[2] : "";
  std::uint64_t runs = 0;
  std::from_chars(number.data(), number.data() + number.size(), runs);
  if ((engine != "wasm" && engine != "native") || runs == 0) {
    std::fprintf(stderr, "usage: integration_soak wasm|native RUNS\n");
    return 2;
  }
  const EngineKind kind = engine == "wasm" ? EngineKind::kWasm : EngineKind::kNative;
  if (caisson::jail::ErrorOfNamespaces() != 0) {
    std::cout << "SKIPPED: namespaces are refused here\n";
    return 77;  // ctest counts the test as skipped.
  }
  const auto before = TakeCensus();
  const bool right = caisson::testing::Soak(kind, runs).Perform();
  const auto after = TakeCensus();
  const bool clean = after == before;
  if (!clean) {
    std::cout << "WRONG: there was ";
    PrintTo(before, &std::cout);
    std::cout << "; now ";
    PrintTo(after, &std::cout);
    std::cout << '\n';
  }
  return right && clean ? 0 : 1;
}
