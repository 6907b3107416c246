#include "engine/native/process_clock.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <string>

#include "engine/native/process_id.h"
#include "engine/native/process_tree.h"

namespace caisson {
namespace {

// As clock_getcpuclockid(3) does, but without checking that the process exists.
clockid_t ClockOf(pid_t pid) {
  constexpr clockid_t kAllItsThreads = 2;  // CPUCLOCK_SCHED
  return static_cast<clockid_t>(~static_cast<unsigned>(pid) << 3) | kAllItsThreads;
}

// User and system time, of the process and of children it has waited for: fields 14 to 17 of stat.
// The process chooses the name before them, so they are counted from the last bracket.
std::chrono::nanoseconds TimesOf(pid_t pid) {
  const std::string stat = ReadSmallFile("/proc/" + std::to_string(pid) + "/stat");
  std::istringstream fields(stat.substr(std::min(stat.rfind(')') + 1, stat.size())));
  std::string skipped;
  for (int i = 3; i < 14; ++i) fields >> skipped;
  std::int64_t total = 0;
  std::int64_t ticks = 0;
  for (int i = 14; i < 18 && fields >> ticks; ++i) total += ticks;
  return std::chrono::nanoseconds(total * (1'000'000'000 / ::sysconf(_SC_CLK_TCK)));
}

}  // namespace

std::optional<ProcessClock> ProcessClock::Of(const UniqueFd& pidfd) {
  const auto pid = PidOf(pidfd);
  return pid ? std::optional(ProcessClock(*pid, ClockOf(*pid))) : std::nullopt;
}

std::optional<std::chrono::nanoseconds> ProcessClock::Read(const UniqueFd& pidfd) const {
  timespec time{};
  // Checked after the reading, to be sure that it was this process that was read.
  if (::clock_gettime(clock_, &time) != 0 || !IsThere(pidfd)) return std::nullopt;
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

std::optional<std::chrono::nanoseconds> ProcessClock::ReadTree(const UniqueFd& pidfd) const {
  std::chrono::nanoseconds total{};
  for (const pid_t process : ProcessTree(pid_)) total += TimesOf(process);
  return IsThere(pidfd) ? std::optional(total) : std::nullopt;
}

}  // namespace caisson
