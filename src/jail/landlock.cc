#include "jail/landlock.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "base/unique_fd.h"

namespace caisson::jail {
namespace {

// The layout of struct landlock_ruleset_attr in ABI 6. Not the system header's: distributions ship
// headers older than the kernels they run on, and a shorter struct would silently ask for less.
struct RulesetAttr {
  std::uint64_t handled_access_fs;
  std::uint64_t handled_access_net;
  std::uint64_t scoped;
};

constexpr std::uint32_t kVersionFlag = 1;

std::uint64_t FileRights(int abi) {
  int bits = 13;            // ABI 1: execute .. make_sym.
  if (abi >= 2) bits = 14;  // refer
  if (abi >= 3) bits = 15;  // truncate
  if (abi >= 5) bits = 16;  // ioctl_dev
  return (std::uint64_t{1} << bits) - 1;
}

}  // namespace

Result<int> LandlockAbi() {
  const long abi = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, kVersionFlag);
  if (abi > 0) return static_cast<int>(abi);
  if (errno == EOPNOTSUPP) {
    return Error(ErrorCode::kFailedPrecondition, "Landlock is built in but switched off at boot");
  }
  if (errno == ENOSYS) {
    return Error(ErrorCode::kFailedPrecondition, "this kernel has no Landlock");
  }
  return Error::FromErrno(errno, "Landlock is refused");
}

const char* LandlockDenyAll(int abi) {
  RulesetAttr attr{.handled_access_fs = FileRights(abi), .handled_access_net = 0, .scoped = 0};
  std::size_t size = sizeof(std::uint64_t);
  if (abi >= kLandlockNetworkAbi) {
    attr.handled_access_net = 3;
    size = 2 * sizeof(std::uint64_t);
  }
  if (abi >= kLandlockScopeAbi) {
    attr.scoped = 3;
    size = sizeof attr;
  }
  UniqueFd ruleset(static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attr, size, 0)));
  if (!ruleset.is_open()) return "make the Landlock ruleset";
  if (::syscall(SYS_landlock_restrict_self, ruleset.get(), 0) != 0) {
    return "apply the Landlock ruleset";  // A successful close does not touch errno.
  }
  return nullptr;
}

}  // namespace caisson::jail
