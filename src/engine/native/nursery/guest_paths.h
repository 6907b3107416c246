// Guest paths: what code calls /tmp, /input, /output and its mounts, where there is no mount namespace to put them there.
//
// In tier landlock a cell's files lie in a directory of the host. This program defines the C library's functions that take
// paths, and extension modules bind to these: an absolute path below a guest path is looked up in the directory
// behind it. Without ShowPaths() they do what the C library's do.
//
// Trust     Convenience, not a wall: code can make the system calls itself. Landlock decides what it reaches.
// Threads   ShowPaths() before there are threads. The functions from any.
// Lifetime  For the rest of the process. The directories stay open.
#pragma once

#include <string>
#include <vector>

namespace caisson::nursery {

struct GuestPath {
  std::string guest;   // "/output": absolute, without a slash at its end.
  int directory = -1;  // What it is, open.
  std::string host;    // The same as a path of the host, to translate back (getcwd).
};

void ShowPaths(std::vector<GuestPath> paths);

}  // namespace caisson::nursery
