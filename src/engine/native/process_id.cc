#include "engine/native/process_id.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

namespace caisson {
namespace {

// The beginning of struct pidfd_info and its ioctl, Linux 6.13: missing in the headers of some
// distributions.
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

}  // namespace

std::optional<pid_t> PidOf(const UniqueFd& pidfd) {
  const auto pid = AskForPid(pidfd);
  return pid ? pid : LookUpPid(pidfd);
}

bool IsThere(const UniqueFd& pidfd) {
  return ::syscall(SYS_pidfd_send_signal, pidfd.get(), 0, nullptr, 0) == 0;
}

}  // namespace caisson
