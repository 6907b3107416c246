// The files that cells can read: the interpreter's library, its packages, and the few system files
// that those expect. They are listed as data, so that an operator can add to them.
//
// Trust     Hostile code can read everything listed here. Nothing of it is writable.
// Threads   Values; reads the file system once.
// Lifetime  Values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/native/forkserver/interpreter.h"
#include "jail/landlock.h"
#include "jail/root.h"
#include "jail/tier.h"

namespace caisson::forkserver {

struct LibraryOptions {
  // A virtual environment whose packages come first, or another Python.
  std::string prefix{};
  bool is_foreign = false;                 // Treat it as another Python in any case.
  std::vector<std::string> extra_paths{};  // Further readable files and directories.
};

struct Library {
  std::optional<Interpreter>
      foreign;              // The Python to start for each run. nullopt: the embedded one.
  std::string module_path;  // For the embedded Python; separated by colons.
  jail::RootPlan root;
  // The access of a cell in addition to its own files.
  std::vector<jail::PathRule> rules;
};

Result<Library> MakeLibrary(jail::Tier tier, const LibraryOptions& options);

// The location and the names of the cell's own files.
inline constexpr const char* kFilesRoot = "/files";
inline constexpr const char* kPrivateDirectories[] = {"tmp", "output", "input"};

}  // namespace caisson::forkserver
