// What cells read: the interpreter's library, the packages beside it, and the few files of a system
// that those expect. As data, so that an operator can add to it.
//
// Trust     Everything listed here is readable to hostile code. Nothing of it is writable.
// Threads   Values; looks at the file system once.
// Lifetime  Values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/native/nursery/interpreter.h"
#include "jail/landlock.h"
#include "jail/root.h"
#include "jail/tier.h"

namespace caisson::nursery {

struct LibraryOptions {
  // A virtual environment whose packages come first, or another Python.
  std::string prefix{};
  bool is_foreign = false;                 // Another Python in any case.
  std::vector<std::string> extra_paths{};  // Further files and directories to see.
};

struct Library {
  std::optional<Interpreter>
      foreign;              // To be started for each run; nothing: the one we are linked with.
  std::string module_path;  // For the latter; colons in between.
  jail::RootPlan root;
  // What stays allowed to a cell, in addition to its own files.
  std::vector<jail::PathRule> rules;
};

Result<Library> MakeLibrary(jail::Tier tier, const LibraryOptions& options);

// The cell's own files: where, and what they are called.
inline constexpr const char* kFilesRoot = "/files";
inline constexpr const char* kPrivateDirectories[] = {"tmp", "output", "input"};

}  // namespace caisson::nursery
