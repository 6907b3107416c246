// Guest paths are the paths /tmp, /input, /output and the mounts, as code names them, where no
// mount namespace can provide them.
//
// In tier landlock a cell's files lie in a directory of the host. This program defines the C
// library functions that take paths, and extension modules bind to these definitions. An absolute
// path below a guest path is looked up in the directory behind it. Without ShowPaths() they behave
// as in the C library.
//
// Trust     A convenience, not a wall: code can make the system calls itself. Landlock decides what
//           it can reach.
// Threads   ShowPaths() before there are threads. The functions from any thread.
// Lifetime  For the rest of the process. The directories stay open.
#pragma once

#include <string>
#include <vector>

namespace caisson::forkserver {

struct GuestPath {
  std::string guest;   // Such as "/output": absolute, without a trailing slash.
  int directory = -1;  // The open directory behind it.
  std::string host;    // Its path on the host, to translate back (getcwd).
};

void ShowPaths(std::vector<GuestPath> paths);

}  // namespace caisson::forkserver
