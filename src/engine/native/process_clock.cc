#include "engine/native/process_clock.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <string>
#include <string_view>

namespace caisson {
namespace {

// The process's number as this process would call it. A pidfd may come from another pid namespace.
std::optional<pid_t> PidOf(const UniqueFd& pidfd) {
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

// A process that has not been reaped keeps its number.
bool IsThere(const UniqueFd& pidfd) {
  return ::syscall(SYS_pidfd_send_signal, pidfd.get(), 0, nullptr, 0) == 0;
}

}  // namespace

std::optional<ProcessClock> ProcessClock::Of(const UniqueFd& pidfd) {
  const auto pid = PidOf(pidfd);
  clockid_t clock = 0;
  if (!pid || ::clock_getcpuclockid(*pid, &clock) != 0 || !IsThere(pidfd)) return std::nullopt;
  return ProcessClock(clock);
}

std::optional<std::chrono::nanoseconds> ProcessClock::Read(const UniqueFd& pidfd) const {
  timespec time{};
  // Asked for after the reading: was it still this process that was read?
  if (::clock_gettime(clock_, &time) != 0 || !IsThere(pidfd)) return std::nullopt;
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace caisson
