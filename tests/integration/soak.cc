// Many runs of every kind, side by side, with workers killed under them: every answer is right, and in
// the end nothing has grown and nothing is left.
//
//   integration_soak [RUNS]    default 200,000
#include <signal.h>

#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <functional>
#include <iostream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/integration/census.h"
#include "tests/integration/guest.h"

namespace caisson::testing {
namespace {

using namespace std::chrono_literals;

constexpr int kDrivers = 4;
// One run in this many is followed by the death of a worker.
constexpr unsigned kKillEvery = 400;
// What malloc and the kernel may do; a leak of a hundred bytes per run would pass it.
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
// Sanitizers keep freed memory and shadow it; leaks they find by themselves.
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

RunRequest Fixed(std::string code, Limits limits = {}) {
  return {.code = std::move(code), .limits = limits, .tools = {"tool"}};
}

std::vector<Kind> Kinds() {
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
  return {
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
}

class Soak {
 public:
  explicit Soak(std::uint64_t runs) : runs_(runs) {
    auto options = WasmOptions();
    options.lanes = 2;
    options.verify_reset = false;  // Every reset is verified by the other suites; here it is speed.
    engine_ = StartWasm(options);
  }

  bool Perform() {
    Drive(std::max<std::uint64_t>(runs_ / 10, 500));  // Caches fill, memory finds its level.
    const std::uint64_t warm = OwnResidentMemory();
    const std::size_t descriptors = TakeCensus().descriptors;
    Drive(runs_);
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
    // A worker killed last may be being replaced; one fresh run per lane says that it is done.
    while (TakeCensus().processes.size() < engine_->lanes()) RunCode(*engine_, "1");
    Expect(TakeCensus().processes.size() == engine_->lanes(), "workers are not one per lane");
    Expect(TakeCensus().descriptors <= descriptors + 4, "descriptors are left");
    return wrong_ == 0;
  }

 private:
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
    if (driver == 0 && random() % (kKillEvery / kDrivers) == 0) return KillOneWorker(random);
    if (random() % 100 == 0) return CancelOne(random);
    static const std::vector<Kind> kinds = Kinds();
    static const int total = [] {
      int sum = 0;
      for (const Kind& kind : kinds) sum += kind.weight;
      return sum;
    }();
    int pick = static_cast<int>(random() % static_cast<unsigned>(total));
    const Kind* kind = kinds.data();
    while (pick >= kind->weight) pick -= (kind++)->weight;
    RunRequest request = kind->request(random);
    Guest guest = Guest::Open(*engine_, "owner " + std::to_string(driver));
    guest.Start(request);
    const Outcome outcome = guest.Serve([](const ToolCall& call) {
      return Value(*call.positional.items.at(0).If<std::int64_t>() * 2);
    });
    Judge(kind->name, kind->is_right(request, outcome), outcome);
  }

  // A run may lose its worker, since we kill them; anything else must be right.
  void Judge(const char* kind, bool is_right, const Outcome& outcome) {
    if (is_right) return;
    if (outcome.error && outcome.error->type == "WorkerLost") {
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
    }  // Else the cell is destroyed under its run.
    ++cancelled_;
  }

  void KillOneWorker(std::mt19937& random) {
    const auto workers = TakeCensus().processes;
    if (!workers.empty()) ::kill(workers[random() % workers.size()], SIGKILL);
  }

  const std::uint64_t runs_;
  std::unique_ptr<WasmEngine> engine_;
  std::atomic<std::uint64_t> wrong_{0};
  std::atomic<std::uint64_t> cancelled_{0};
  std::atomic<std::uint64_t> crashed_{0};
};

}  // namespace
}  // namespace caisson::testing

int main(int argc, char** argv) {
  std::uint64_t runs = 200'000;
  if (argc > 1) {
    const char* end = argv[1] + std::strlen(argv[1]);
    if (argc > 2 || std::from_chars(argv[1], end, runs).ptr != end || runs == 0) {
      std::fprintf(stderr, "usage: integration_soak [RUNS]\n");
      return 2;
    }
  }
  using caisson::testing::TakeCensus;
  const auto before = TakeCensus();
  const bool right = caisson::testing::Soak(runs).Perform();
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
