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

// `directory`: O_PATH will do. Where this process chose the id of jailed processes (identity.h), they get what
// the directory's owner has; elsewhere they are its user anyway.
Result<UniqueFd> DetachTree(const UniqueFd& directory);

}  // namespace caisson::jail
