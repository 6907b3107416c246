// Becoming another program inside walls that already stand: how a confined process starts an interpreter that we
// cannot link.
//
// What stood before the exec stands after it: namespaces, Landlock, no_new_privs, the filter, limits. The filter
// lets a process become the program behind one descriptor (InterpreterFilter::successor), numbered kSuccessor: once
// the limit on open files is no higher, nothing can be opened under that number again, and the exec itself closes
// it. So it happens once.
//
// Trust     The program is the operator's. Whatever it does, it does behind the walls.
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
  int program = kSuccessor;  // To be closed on exec.
  std::vector<std::string> argv{};
  std::vector<std::pair<std::string, std::string>> environment{};  // All of it (I1).
};

Error Become(const Successor& successor);

}  // namespace caisson::jail
