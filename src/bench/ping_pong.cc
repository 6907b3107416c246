#include "bench/ping_pong.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <utility>

#include "base/unique_fd.h"

namespace caisson::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kWarmUpTrips = 100;

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

Result<Pipe> MakePipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return Error::FromErrno(errno, "create a pipe");
  return Pipe{.read = UniqueFd(ends[0]), .write = UniqueFd(ends[1])};
}

// The first and the last core that this process may use. On one core, or by chance on the same one,
// a round trip is only two switches, and several times as fast.
struct Cores {
  cpu_set_t all{};
  cpu_set_t first{};
  cpu_set_t last{};
};

Cores FindCores() {
  Cores cores;
  CPU_ZERO(&cores.first);
  CPU_ZERO(&cores.last);
  ::sched_getaffinity(0, sizeof cores.all, &cores.all);
  std::size_t last = 0;
  for (std::size_t core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &cores.all)) continue;
    if (CPU_COUNT(&cores.first) == 0) CPU_SET(core, &cores.first);
    last = core;
  }
  CPU_SET(last, &cores.last);
  return cores;
}

// In a copy of a process with threads: makes system calls only.
[[noreturn]] void Echo(int from, int to) {
  char byte = 0;
  while (::read(from, &byte, 1) == 1) {
    if (::write(to, &byte, 1) != 1) break;
  }
  ::_exit(0);
}

Result<void> Trip(const Pipe& there, const Pipe& back) {
  char byte = 'p';
  if (::write(there.write.get(), &byte, 1) != 1 || ::read(back.read.get(), &byte, 1) != 1) {
    return Error(ErrorCode::kInternal, "the other process does not answer");
  }
  return {};
}

}  // namespace

Result<Samples> PingPong(int round_trips) {
  TRY_ASSIGN(Pipe there, MakePipe());
  TRY_ASSIGN(Pipe back, MakePipe());
  const Cores cores = FindCores();
  const pid_t child = ::fork();
  if (child < 0) return Error::FromErrno(errno, "create a process");
  if (child == 0) {
    ::sched_setaffinity(0, sizeof cores.last, &cores.last);
    ::close(there.write.get());
    Echo(there.read.get(), back.write.get());
  }
  ::sched_setaffinity(0, sizeof cores.first, &cores.first);
  Samples samples;
  Result<void> good;
  for (int i = -kWarmUpTrips; good && i < round_trips; ++i) {
    const auto begin = Clock::now();
    good = Trip(there, back);
    const std::chrono::duration<double, std::micro> took = Clock::now() - begin;
    if (i >= 0) samples.push_back(took.count());
  }
  ::sched_setaffinity(0, sizeof cores.all, &cores.all);
  there.write = UniqueFd();  // The child reads the end and exits.
  ::waitpid(child, nullptr, 0);
  if (!good) return std::move(good).error();
  return samples;
}

}  // namespace caisson::bench
