#include "jail/landlock.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "base/unique_fd.h"

namespace caisson::jail {
namespace {

// The layout of struct landlock_ruleset_attr in ABI 6. The system header is not used: distributions
// ship headers older than their kernels, and a shorter struct would silently restrict less.
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

// struct landlock_path_beneath_attr.
struct [[gnu::packed]] PathBeneathAttr {
  std::uint64_t allowed_access;
  std::int32_t parent_fd;
};
constexpr int kPathBeneath = 1;  // LANDLOCK_RULE_PATH_BENEATH

// LANDLOCK_ACCESS_FS_*, by their bits.
constexpr std::uint64_t kWriteFile = 1 << 1;
constexpr std::uint64_t kReadFile = 1 << 2;
constexpr std::uint64_t kReadDir = 1 << 3;
constexpr std::uint64_t kMakeChar = 1 << 6;
constexpr std::uint64_t kMakeSock = 1 << 9;
constexpr std::uint64_t kMakeFifo = 1 << 10;
constexpr std::uint64_t kMakeBlock = 1 << 11;
constexpr std::uint64_t kMakeLink = 1 << 12;
constexpr std::uint64_t kIoctlDevice = 1 << 15;
constexpr std::uint64_t kExecute = 1 << 0;
constexpr std::uint64_t kOfFiles = kExecute | kWriteFile | kReadFile;

std::uint64_t Rights(PathRule::Access access, int abi) {
  switch (access) {
    case PathRule::Access::kRead:
      return kReadFile | kReadDir;
    case PathRule::Access::kExecute:
      return kReadFile | kExecute;
    case PathRule::Access::kUse:
      return kReadFile | kReadDir | kWriteFile;
    case PathRule::Access::kKeep:
      return Rights(PathRule::Access::kChange, abi) & ~(kMakeFifo | kMakeLink);
    case PathRule::Access::kChange:
      return FileRights(abi) & ~(kExecute | kMakeChar | kMakeSock | kMakeBlock | kIoctlDevice);
  }
  return 0;
}

UniqueFd MakeRuleset(int abi) {
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
  return UniqueFd(static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attr, size, 0)));
}

Result<void> AddRule(const UniqueFd& ruleset, int abi, const PathRule& rule) {
  UniqueFd path;
  if (rule.directory == nullptr) path = UniqueFd(::open(rule.path.c_str(), O_PATH | O_CLOEXEC));
  if (rule.directory == nullptr && !path.is_open()) {
    if (errno == ENOENT) return {};
    return Error::FromErrno(errno, "allow access to " + rule.path);
  }
  const UniqueFd& target = rule.directory != nullptr ? *rule.directory : path;
  PathBeneathAttr attr{.allowed_access = Rights(rule.access, abi), .parent_fd = target.get()};
  const auto add = [&] {
    return ::syscall(SYS_landlock_add_rule, ruleset.get(), kPathBeneath, &attr, 0) == 0;
  };
  if (add()) return {};
  // The kernel refuses directory-only rights on anything else.
  if (errno == EINVAL) {
    attr.allowed_access &= kOfFiles;
    if (add()) return {};
  }
  return Error::FromErrno(errno, "allow access to " + rule.path);
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
  const UniqueFd ruleset = MakeRuleset(abi);
  if (!ruleset.is_open()) return "make the Landlock ruleset";
  if (::syscall(SYS_landlock_restrict_self, ruleset.get(), 0) != 0) {
    return "apply the Landlock ruleset";  // A successful close does not touch errno.
  }
  return nullptr;
}

Result<UniqueFd> MakeLandlockRules(int abi, std::span<const PathRule> rules) {
  UniqueFd ruleset = MakeRuleset(abi);
  if (!ruleset.is_open()) return Error::FromErrno(errno, "make the Landlock ruleset");
  for (const PathRule& rule : rules) TRY(AddRule(ruleset, abi, rule));
  return ruleset;
}

Result<void> ApplyLandlockRules(const UniqueFd& ruleset) {
  if (::syscall(SYS_landlock_restrict_self, ruleset.get(), 0) != 0) {
    return Error::FromErrno(errno, "apply the Landlock ruleset");
  }
  return {};
}

}  // namespace caisson::jail
