// Who owns what is in a directory, and giving all of it to one user.
//
// Trust     The tree may change under our hands, and anybody may have put links into it: names are
//           resolved beneath the directory, one at a time, without links.
// Threads   Any; no state. Blocks: one call of the kernel for each entry.
// Lifetime  Functions over a borrowed descriptor.
#pragma once

#include "base/result.h"
#include "base/unique_fd.h"
#include "jail/kernel_identity.h"

namespace caisson::jail {

// More entries are not looked at: each takes microseconds whenever a cell with the directory is
// made.
inline constexpr std::size_t kMaxOwnedEntries = 16'384;

// Returns true if one of the first kMaxOwnedEntries entries below `directory` has another owner or
// group than `directory` itself.
Result<bool> HasOtherOwners(const UniqueFd& directory);

// Makes the user and group of `ids` own `directory` and everything below it. Fails with
// kResourceExhausted if it has more than kMaxOwnedEntries entries.
Result<void> GiveAll(const UniqueFd& directory, const Ids& ids);

}  // namespace caisson::jail
