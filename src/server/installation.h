// An Installation lists the paths of the files that Caisson needs to run.
//
// Trust     Files are searched beside the running program, or in the operator's directory, never
//           through the environment or the working directory: an attacker who can choose the worker
//           program can run anything with our rights.
// Threads   Any thread; no state.
// Lifetime  A value. No file is opened, so files may be missing when they are used.
#pragma once

#include <string>

#include "base/result.h"

namespace caisson {

struct Installation {
  std::string worker_path;
  std::string base_path;
  std::string fork_server_path;  // Empty: engine native is not installed.
};

// Searches `directory`. If that is empty, searches beside the running program (a build tree), then
// in ../libexec/caisson (after `make install`). Fails with kNotFound and names the places it
// searched.
Result<Installation> FindInstallation(const std::string& directory);

}  // namespace caisson
