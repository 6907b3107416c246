#include "jail/kernel_identity.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <fstream>
#include <string>

#include "base/unique_fd.h"

namespace caisson::jail {
namespace {

constexpr std::uint32_t kNeeded = (1U << CAP_SETUID) | (1U << CAP_SETGID);

bool MayChooseIds() {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, 2> data{};
  if (::syscall(SYS_capget, &header, data.data()) != 0) return false;
  return (data[0].effective & kNeeded) == kNeeded;
}

// Returns whether `id` exists in this process's own user namespace; only then can it be mapped
// further.
bool IsMapped(const char* map_path, std::uint64_t id) {
  std::ifstream map(map_path);
  std::uint64_t inside = 0;
  std::uint64_t outside = 0;
  std::uint64_t length = 0;
  while (map >> inside >> outside >> length) {
    if (id >= inside && id - inside < length) return true;
  }
  return false;
}

Result<void> WriteFile(const std::string& path, const std::string& text) {
  UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.is_open()) return Error::FromErrno(errno, "open " + path);
  const ssize_t written = ::write(file.get(), text.data(), text.size());
  if (written < 0) return Error::FromErrno(errno, "write '" + text + "' to " + path);
  return {};
}

std::string MapLine(std::uint64_t host_id) {
  return std::to_string(kInsideId) + " " + std::to_string(host_id) + " 1";
}

}  // namespace

Ids ChooseIds() {
  if (MayChooseIds()) {
    for (uid_t id : {kPrivateId, kInsideId}) {
      if (IsMapped("/proc/self/uid_map", id) && IsMapped("/proc/self/gid_map", id)) {
        return Ids{.host_uid = id, .host_gid = id, .chosen = true};
      }
    }
  }
  return Ids{.host_uid = ::geteuid(), .host_gid = ::getegid(), .chosen = false};
}

Result<void> WriteIdMaps(pid_t pid, const Ids& ids) {
  const std::string dir = "/proc/" + std::to_string(pid) + "/";
  if (!ids.chosen) TRY(WriteFile(dir + "setgroups", "deny"));
  TRY(WriteFile(dir + "gid_map", MapLine(ids.host_gid)));
  return WriteFile(dir + "uid_map", MapLine(ids.host_uid));
}

}  // namespace caisson::jail
