#include "engine/native/process_clock.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace caisson {
namespace {

constexpr std::size_t kMaxTree = 256;

// The beginning of struct pidfd_info and what asks for it, Linux 6.13: not in the headers of every distribution.
struct PidInfo {
  std::uint64_t mask;
  std::uint64_t cgroup;
  std::uint32_t pid;
  std::array<std::uint32_t, 11> rest;
};
constexpr unsigned long kGetPidInfo = _IOWR(0xff, 11, PidInfo);
constexpr std::uint64_t kWantPid = 1;

std::optional<pid_t> AskForPid(const UniqueFd& pidfd) {
  PidInfo info{.mask = kWantPid, .cgroup = 0, .pid = 0, .rest = {}};
  if (::ioctl(pidfd.get(), kGetPidInfo, &info) != 0 || info.pid == 0) return std::nullopt;
  return static_cast<pid_t>(info.pid);
}

std::optional<pid_t> LookUpPid(const UniqueFd& pidfd) {
  const std::string path = "/proc/self/fdinfo/" + std::to_string(pidfd.get());
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 512> text{};
  const ssize_t size = file.is_open() ? ::read(file.get(), text.data(), text.size()) : -1;
  if (size <= 0) return std::nullopt;
  const std::string_view info(text.data(), static_cast<std::size_t>(size));
  constexpr std::string_view kKey = "\nPid:\t";
  const std::size_t at = info.find(kKey);
  if (at == info.npos) return std::nullopt;
  pid_t pid = 0;
  const auto parsed =
      std::from_chars(info.data() + at + kKey.size(), info.data() + info.size(), pid);
  return parsed.ec == std::errc() && pid > 0 ? std::optional(pid) : std::nullopt;
}

// The process's number as this process would call it. A pidfd may come from another pid namespace.
std::optional<pid_t> PidOf(const UniqueFd& pidfd) {
  const auto pid = AskForPid(pidfd);
  return pid ? pid : LookUpPid(pidfd);
}

// As clock_getcpuclockid(3) makes it, which would look whether the process is there.
clockid_t ClockOf(pid_t pid) {
  constexpr clockid_t kAllItsThreads = 2;  // CPUCLOCK_SCHED
  return static_cast<clockid_t>(~static_cast<unsigned>(pid) << 3) | kAllItsThreads;
}

// A process that has not been reaped keeps its number.
bool IsThere(const UniqueFd& pidfd) {
  return ::syscall(SYS_pidfd_send_signal, pidfd.get(), 0, nullptr, 0) == 0;
}

std::string ReadSmall(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text(4096, '\0');
  const ssize_t size = file.is_open() ? ::read(file.get(), text.data(), text.size()) : 0;
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return text;
}

// User and system time, the process's own and of children it has waited for: fields 14 to 17 of stat. The name
// before them is the process's own choice, so they are counted from the last bracket.
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
  // Asked for after the reading: was it still this process that was read?
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
