// Parts that several tables of the configuration share.
//
// Trust     The operator's own file.
// Threads   Values.
// Lifetime  Values.
#pragma once

#include <string>

#include "engine/host_files.h"

namespace caisson {

// Refers to a secret. The configuration file never contains the secret itself.
struct SecretReference {
  std::string environment{};  // The name of a variable of the host, or
  std::string file{};         // a file that holds it.
};

struct MountConfig {
  std::string host;
  std::string guest;
  MountMode mode = MountMode::kReadOnly;
};

}  // namespace caisson
