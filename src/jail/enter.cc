#include "jail/enter.h"

#include <fcntl.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include "base/unique_fd.h"
#include "jail/landlock.h"
#include "jail/root.h"
#include "jail/walls.h"

namespace caisson::jail {
namespace {

Result<void> VerifyNoFiles() {
  UniqueFd root(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (root.is_open() || errno != EACCES) {
    return Error(ErrorCode::kFailedPrecondition, "Landlock let the root directory be opened");
  }
  return {};
}

Result<void> PutLandlock(WallBuilder& walls) {
  Result<int> abi = LandlockAbi();
  if (!abi) {
    return walls.Put("landlock", Need::kRequired, abi.error(), kLandlockFix);
  }
  Result<void> applied = FromStep(LandlockDenyAll(*abi));
  if (applied) applied = VerifyNoFiles();
  TRY(walls.Put("landlock", Need::kRequired, applied, kLandlockFix));
  return PutLandlockExtras(walls, *abi, applied.has_value());
}

Result<void> PutLimits(const EnterSpec& spec) {
  const std::array<Limit, 9> limits = {{
      {RLIMIT_CORE, 0},
      {RLIMIT_NPROC, spec.processes},
      {RLIMIT_NOFILE, spec.open_files},  // Bounds new descriptor numbers; open ones stay open.
      {RLIMIT_FSIZE, spec.file_bytes},
      {RLIMIT_MEMLOCK, 0},
      {RLIMIT_MSGQUEUE, 0},
      {RLIMIT_NICE, 0},
      {RLIMIT_RTPRIO, 0},
      {RLIMIT_LOCKS, 0},
  }};
  return SetLimits(limits);
}

Result<void> PutNamespaces(WallBuilder& walls) {
  TRY(RequireOwnNamespaces());
  TRY(walls.Put("namespaces", Need::kRequired, {}));
  TRY(walls.Put("network", Need::kRequired, VerifyNoNetwork()));
  TRY(PutHostName(walls));
  Result<void> swapped = FromStep(SwapRoot());
  if (swapped) swapped = VerifyEmptyRoot();
  return walls.Put("root", Need::kRequired, swapped, kRootFix);
}

}  // namespace

Result<Walls> Enter(const EnterSpec& spec) {
  WallBuilder walls(spec.tier);
  {
    const UniqueFd proc(::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC));
    TRY(RequireSingleThread(proc));
  }
  TRY(SetProcessName(spec.name));
  if (spec.tier == Tier::kNamespace) TRY(PutNamespaces(walls));
  // Landlock and an unprivileged filter both require no_new_privs first.
  TRY(walls.Put("no_new_privs", Need::kRequired, ForbidNewPrivileges()));
  // After the root: Landlock forbids mounting.
  TRY(PutLandlock(walls));
  // Outside its own user namespace the process lacks the capability for this, and cannot gain any
  // because of no_new_privs. Spawn() has already emptied the bounding set if it could.
  if (spec.tier == Tier::kNamespace) {
    TRY(walls.Put("bounding_set", Need::kRequired, DropPrivilegeSources()));
  }
  TRY(walls.Put("capabilities", Need::kRequired, DropCapabilities()));
  TRY(walls.Put("not_dumpable", Need::kRequired, ForbidDumping()));
  TRY(walls.Put("no_exec_gain", Need::kExtra, RefuseExecGain(), kNewerKernelFix));
  IsolateBranches();
  TRY(walls.Put("rlimits", Need::kRequired, PutLimits(spec)));
  TRY_ASSIGN(const Filter filter, Filter::Compile(spec.syscalls));
  TRY(walls.Put("seccomp", Need::kRequired, filter.Load(), kSeccompFix));
  return std::move(walls).Take();
}

}  // namespace caisson::jail
