// Measures and removes directory trees that hostile code has filled.
//
// Trust     The contents are hostile: links are not followed, depth and work are bounded. Other
//           processes may change the tree meanwhile.
// Threads   Any. Each may take as long as the tree is large.
// Lifetime  Functions.
#pragma once

#include <dirent.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "base/unique_fd.h"

namespace caisson {

struct CloseDirectoryStream {
  void operator()(DIR* directory) const { ::closedir(directory); }
};
using DirectoryStream = std::unique_ptr<DIR, CloseDirectoryStream>;

// Opens a directory to list it. `parent` may be O_PATH or AT_FDCWD. If its owner has taken the
// right to list it from itself, takes the right back. Null: it is no directory that we may list.
DirectoryStream OpenToList(int parent, const char* name);

// Calls `visit` for each entry until it returns false.
void EachEntry(DIR* directory, const std::function<bool(const char* name)>& visit);

struct TreeSize {
  std::size_t entries = 0;
  std::uint64_t bytes = 0;  // Disk space.
  bool whole = true;        // False: there was more than `most` entries or 64 levels.
};

// Returns the size of the tree beneath a directory. Looks at no more than `most` entries and 64
// levels.
TreeSize MeasureTree(const UniqueFd& directory, std::size_t most);

// Removes the directory with everything beneath it, whatever its depth. Returns whether it is gone.
bool RemoveTree(int parent, const char* name);

}  // namespace caisson
