// WarmPackages keeps the packages that the latest runs of engine native imported in a small file of
// the user, so that the next start of a program warms them before they are needed.
//
// The file has one line for each run with other packages, the latest first: top-level module
// names, separated by spaces. It is a cache. A file that is missing, unreadable or damaged is an
// empty one, and failures to write it are ignored.
//
// Trust     Names come from code that ran and from a file of the user. They only select among the
//           fork servers that the program has anyway. Both are bounded.
// Threads   Any. Reads and writes a file.
// Lifetime  A program may end at any time: the file is replaced as a whole.
#pragma once

#include <string>
#include <vector>

#include "base/guarded.h"
#include "caller/caller_context.h"

namespace caisson {

// Returns the file's path: "caisson/warm-packages" in $XDG_CACHE_HOME, else in $HOME/.cache. Empty
// if neither is an absolute path.
std::string WarmFileOf(const EnvironmentMap& environment);

class WarmPackages {
 public:
  using Packages = std::vector<std::string>;
  static constexpr std::size_t kMostWarm = 2;

  explicit WarmPackages(std::string path);

  // Returns the packages of the latest runs before this start, at most kMostWarm entries.
  std::vector<Packages> latest() const;

  // A run imports these packages. Writes the file if they are new since the start.
  void Note(const Packages& packages);

 private:
  struct State {
    std::vector<Packages> before;  // As read at the start.
    std::vector<Packages> noted;   // Since the start, the latest first.
  };
  void Write(const std::vector<Packages>& lines) const;

  const std::string path_;
  mutable Guarded<State> state_;
};

}  // namespace caisson
