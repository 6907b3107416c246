// Leaves in this process's page tables what the processes it forks will use, and nothing else.
//
// Fork copies what is in them, and the end of a process takes it down again: in a warm interpreter thousands of
// entries, of which a run uses a few hundred. What is left out is mapped when somebody does use it.
//
// Trust     Changes no byte and no right of any memory. Memory that can be written to comes to be a private mapping of
//           a sealed file that nobody has a descriptor of: whoever writes gets a copy, as after any fork.
// Threads   One. Before the jail refuses to make code writable.
// Lifetime  Holds for what is allocated and loaded now.
#pragma once

#include <functional>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace caisson::nursery {

// What the file that memory is moved to is called. One more mapping of it, of all of it and read-only, shows for ever what
// was moved.
inline constexpr std::string_view kMemoryFile = "/memfd:memory (deleted)";

// Of /proc/self.
struct PageFiles {
  const UniqueFd& maps;
  const UniqueFd& pagemap;
};

// `use` does what forked processes will do. Where the kernel refuses some of the means, more is kept than is used.
Result<void> KeepWhatIsUsed(const PageFiles& files, const std::function<Result<void>()>& use);

}  // namespace caisson::nursery
