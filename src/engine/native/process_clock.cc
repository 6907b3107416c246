#include "engine/native/process_clock.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include "engine/native/process_id.h"

namespace caisson {
namespace {

constexpr std::size_t kMaxTree = 256;

// As clock_getcpuclockid(3) does, but without checking that the process exists.
clockid_t ClockOf(pid_t pid) {
  constexpr clockid_t kAllItsThreads = 2;  // CPUCLOCK_SCHED
  return static_cast<clockid_t>(~static_cast<unsigned>(pid) << 3) | kAllItsThreads;
}

std::string ReadSmall(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text(4096, '\0');
  const ssize_t size = file.is_open() ? ::read(file.get(), text.data(), text.size()) : 0;
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return text;
}

// User and system time, of the process and of children it has waited for: fields 14 to 17 of stat.
// The process chooses the name before them, so they are counted from the last bracket.
std::chrono::nanoseconds TimesOf(pid_t pid) {
  const std::string stat = ReadSmall("/proc/" + std::to_string(pid) + "/stat");
  std::istringstream fields(stat.substr(std::min(stat.rfind(')') + 1, stat.size())));
  std::string skipped;
  for (int i = 3; i < 14; ++i) fields >> skipped;
  std::int64_t total = 0;
  std::int64_t ticks = 0;
  for (int i = 14; i < 18 && fields >> ticks; ++i) total += ticks;
  return std::chrono::nanoseconds(total * (1'000'000'000 / ::sysconf(_SC_CLK_TCK)));
}

std::vector<pid_t> ChildrenOf(pid_t pid) {
  std::vector<pid_t> children;
  std::error_code ignored;
  const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
  for (const auto& task : std::filesystem::directory_iterator(tasks, ignored)) {
    std::istringstream list(ReadSmall(task.path() / "children"));
    for (pid_t child = 0; list >> child;) children.push_back(child);
  }
  return children;
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
  std::vector<pid_t> tree{pid_};
  for (std::size_t i = 0; i < tree.size() && tree.size() < kMaxTree; ++i) {
    total += TimesOf(tree[i]);
    for (const pid_t child : ChildrenOf(tree[i])) tree.push_back(child);
  }
  return IsThere(pidfd) ? std::optional(total) : std::nullopt;
}

}  // namespace caisson
