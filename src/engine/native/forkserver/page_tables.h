// Reduces this process's page tables to the entries that forked processes will use.
//
// Fork copies all entries, and the end of a process removes them again. A warm interpreter has
// thousands of entries, of which a run uses a few hundred. Pages without an entry are mapped on
// first use.
//
// Trust     Changes no byte and no access right of any memory. Writable memory becomes a private
//           mapping of a sealed file without an open descriptor: a process that writes to it gets a
//           copy, as after any fork.
// Threads   One. Call it before the jail forbids to make code writable.
// Lifetime  Applies to what is allocated and loaded now.
#pragma once

#include <functional>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace caisson::forkserver {

// The name of the file that memory is moved to. A second mapping of the whole file, read-only,
// keeps the original contents readable.
inline constexpr std::string_view kMemoryFile = "/memfd:memory (deleted)";

// Files of /proc/self.
struct PageFiles {
  const UniqueFd& maps;
  const UniqueFd& pagemap;
};

// `use` does what forked processes will do. If the kernel refuses some of the means, more entries
// are kept.
Result<void> KeepWhatIsUsed(const PageFiles& files, const std::function<Result<void>()>& use);

}  // namespace caisson::forkserver
