// An Installation is where the files are that a running Caisson is made of.
//
// Trust     Found beside our own program (or where the operator says), never through the environment or
//           the working directory: whoever can choose the worker chooses what runs as us.
// Threads   Any; no state.
// Lifetime  A value. Nothing is opened: the files can be gone by the time somebody does.
#pragma once

#include <string>

#include "base/result.h"

namespace caisson {

struct Installation {
  std::string worker_path;
  std::string base_path;
  std::string fork_server_path;  // Empty: installed without engine native.
};

// Looks in `directory`; if that is empty, beside the running program (a build tree) and then in
// ../libexec/caisson (after `make install`). kNotFound names the places that were looked at.
Result<Installation> FindInstallation(const std::string& directory);

}  // namespace caisson
