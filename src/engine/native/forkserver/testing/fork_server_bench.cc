// Measures the cost of a cell: to make, to dispatch to, to kill; and the resulting runs per second.
//
//   caisson-forkserver-bench [TIER [MODULE,...]]
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>
#include <fstream>
#include <string>
#include <vector>

#include "engine/native/forkserver/testing/driver.h"

namespace caisson::forkserver {
namespace {

using Clock = std::chrono::steady_clock;

class Samples {
 public:
  void Add(Clock::time_point since) {
    us_.push_back(std::chrono::duration<double, std::micro>(Clock::now() - since).count());
  }
  void Print(const char* name) {
    std::ranges::sort(us_);
    std::printf("%-28s %8.1f us median  %8.1f min  %8.1f p99\n", name, us_[us_.size() / 2], us_[0],
                us_[us_.size() * 99 / 100]);
  }

 private:
  std::vector<double> us_;
};

void Pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(cpu), &set);
  ::pthread_setaffinity_np(::pthread_self(), sizeof set, &set);
}

std::vector<std::string> Arguments(const std::string& preload) {
  return preload.empty() ? std::vector<std::string>{}
                         : std::vector<std::string>{"--preload=" + preload};
}

Driver MustStart(jail::Tier tier, const std::string& preload) {
  auto driver = Driver::Start(tier, Arguments(preload));
  if (driver) return *std::move(driver);
  std::fprintf(stderr, "%s\n", driver.error().message().c_str());
  std::exit(1);
}

void Latencies(jail::Tier tier, const std::string& preload) {
  Driver driver = MustStart(tier, preload);
  Samples make;
  Samples dispatch;
  Samples kill;
  Samples all;
  double cpu_ns = 0;
  const int count = 300;
  for (int i = 0; i < count; ++i) {
    const auto start = Clock::now();
    DrivenCell cell = driver.Make();
    make.Add(start);
    // Waits for everything that the cell still does after it has reported that it is prepared.
    ::usleep(1500);
    const auto send = Clock::now();
    static_cast<void>(cell.Run("1+1"));
    dispatch.Add(send);
    const auto killed = Clock::now();
    cell.Kill();
    driver.AwaitGone(cell);
    kill.Add(killed);
    cpu_ns += static_cast<double>(cell.gone ? cell.gone->cpu_ns : 0);
  }
  make.Print("make, on demand");
  dispatch.Print("dispatch to a warm cell");
  kill.Print("kill to gone");
  std::printf("%-28s %8.1f us mean\n", "CPU of a cell", cpu_ns / count / 1000);
}

void Footprint(jail::Tier tier, const std::string& preload) {
  Driver driver = MustStart(tier, preload);
  std::vector<DrivenCell> cells;
  for (int i = 0; i < 20; ++i) cells.push_back(driver.Make());
  double pss = 0;
  for (const DrivenCell& cell : cells) {
    std::ifstream rollup("/proc/" + std::to_string(cell.HostPid()) + "/smaps_rollup");
    std::string word;
    while (rollup >> word) {
      if (double kib = 0; word == "Pss:" && rollup >> kib) pss += kib;
    }
  }
  std::printf("%-28s %8.1f KiB PSS\n", "a waiting cell", pss / 20);
}

// One-shot runs with four cells waiting, fork server and driver on one core.
double Rate(jail::Tier tier, const std::string& preload, std::chrono::seconds duration) {
  Driver driver = MustStart(tier, preload);
  std::deque<DrivenCell> waiting;
  for (int i = 0; i < 4; ++i) waiting.push_back(driver.Make());
  const auto start = Clock::now();
  int runs = 0;
  while (Clock::now() - start < duration) {
    DrivenCell cell = std::move(waiting.front());
    waiting.pop_front();
    DrivenCell next;
    next.id = driver.Ask();
    static_cast<void>(cell.Run("1+1"));
    cell.Kill();
    driver.AwaitGone(cell);
    driver.AwaitPrepared(next);
    waiting.push_back(std::move(next));
    ++runs;
  }
  return runs / std::chrono::duration<double>(Clock::now() - start).count();
}

void Throughput(jail::Tier tier, const std::string& preload, int cores) {
  std::array<int, 2> pipe{};
  if (::pipe(pipe.data()) != 0) return;
  for (int core = 0; core < cores; ++core) {
    if (::fork() != 0) continue;
    Pin(core);
    const double rate = Rate(tier, preload, std::chrono::seconds(3));
    static_cast<void>(!::write(pipe[1], &rate, sizeof rate));
    ::_exit(0);
  }
  double sum = 0;
  for (int core = 0; core < cores; ++core) {
    double rate = 0;
    static_cast<void>(!::read(pipe[0], &rate, sizeof rate));
    sum += rate;
  }
  while (::wait(nullptr) > 0) {
  }
  std::printf("%-22s %d cores %8.0f runs/s\n", "one-shot runs", cores, sum);
}

}  // namespace
}  // namespace caisson::forkserver

int main(int argc, char** argv) {
  using namespace caisson;  // NOLINT(google-build-using-namespace)
  auto tier = jail::ParseTier(argc > 1 ? argv[1] : "namespace");
  if (!tier) return 2;
  const std::string preload = argc > 2 ? argv[2] : "";
  forkserver::Latencies(*tier, preload);
  forkserver::Footprint(*tier, preload);
  forkserver::Throughput(*tier, preload, 1);
  forkserver::Throughput(*tier, preload, 2);
}
