// Replaces a confined process by another program inside walls that already stand. A confined
// process uses this to start an interpreter that we cannot link.
//
// The walls that stood before the exec still stand after it: namespaces, Landlock, no_new_privs,
// the filter, limits. The filter lets a process execute only the program behind one descriptor
// (InterpreterFilter::successor), which has the number kSuccessor. Once the limit on open files is
// not above that number, nothing can be opened under it again, and the exec itself closes it. So it
// can happen only once.
//
// Trust     The program is the operator's. It runs behind the walls, whatever it does.
// Threads   Single-threaded processes only.
// Lifetime  Returns only if it failed.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace caisson::jail {

inline constexpr int kSuccessor = 1023;

struct Successor {
  int program = kSuccessor;  // Must be close-on-exec.
  std::vector<std::string> argv{};
  std::vector<std::pair<std::string, std::string>> environment{};  // The complete environment (I1).
};

Error Become(const Successor& successor);

}  // namespace caisson::jail
