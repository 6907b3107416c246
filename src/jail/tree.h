// A tree is a directory of the host as a mount that is attached nowhere yet: made outside the jail, handed in
// as a descriptor, attached by the jailed process in its own mount namespace (attach.h).
//
// A directory's own descriptor would not do: the kernel attaches only what belongs to the caller's mount
// namespace or to none.
//
// Trust     Privileged: decides what of the host can be seen inside. A tree is read-only, without devices,
//           programs or links that could be followed, and holds nothing that is mounted below the directory.
// Threads   Any; takes a millisecond at most. Without CAP_SYS_ADMIN a short-lived child makes it.
// Lifetime  The caller owns the descriptor. It can be attached once.
#pragma once

#include "base/result.h"
#include "base/unique_fd.h"

namespace caisson::jail {

// kWrite: the cell gets a layer over the tree, so it must be allowed to change every file.
enum class TreeUse { kRead, kWrite };

// `directory`: O_PATH will do. Where this process chose the id of jailed processes (identity.h), they get what
// the directory's owner has, and with kWrite everything below it; elsewhere they are its user anyway. Fails with
// kFailedPrecondition or kResourceExhausted, and the reason, if the jailed user could not write to it (kWrite).
Result<UniqueFd> DetachTree(const UniqueFd& directory, TreeUse use);

}  // namespace caisson::jail
