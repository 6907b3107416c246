// A tree is a directory of the host as a detached mount. It is made outside the jail, passed in as
// a descriptor, and attached by the jailed process in its own mount namespace (attach.h).
//
// The descriptor of the directory itself would not work: the kernel attaches only mounts that
// belong to the caller's mount namespace or to none.
//
// Trust     Privileged: decides which files of the host can be seen inside. A tree is read-only,
//           without devices, programs or links that can be followed, and without mounts below the
//           directory.
// Threads   Any; takes a millisecond at most. Without CAP_SYS_ADMIN a short-lived child makes it.
// Lifetime  The caller owns the descriptor. It can be attached once.
#pragma once

#include "base/result.h"
#include "base/unique_fd.h"

namespace caisson::jail {

// kWrite: the cell gets a layer above the tree and must be allowed to change every file.
enum class TreeUse { kRead, kWrite };

// `directory` may be an O_PATH descriptor. If this process chose the id of the jailed processes
// (identity.h), they get the rights of the directory's owner, and with kWrite those of every owner
// below it. Otherwise they already run as the same user. Fails with kFailedPrecondition or
// kResourceExhausted if the jailed user could not write to the tree (kWrite).
Result<UniqueFd> DetachTree(const UniqueFd& directory, TreeUse use);

}  // namespace caisson::jail
