// Replaces the root directory of this mount namespace: by an empty, read-only one, or by one that
// holds what a plan lists.
//
// Trust     Privileged, and ruinous in the wrong namespace: callers make sure they are in a mount
//           namespace of their own.
// Threads   Single-threaded processes only.
// Lifetime  Cannot be undone: the old root is detached.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace caisson::jail {

// Returns null, or the step that failed with errno telling why. No heap: the probe calls it in the
// child of a clone.
const char* SwapRoot();

// A private root as data. Paths are absolute and without links.
struct RootPlan {
  struct File {
    std::string path;
    std::string text;
  };
  struct Link {
    std::string path;
    std::string target;
  };
  // Of the outside, at the same path inside: read-only, without set-id bits. What does not exist is
  // left out.
  std::vector<std::string> binds = {};
  std::vector<std::string> devices = {};  // As binds, but these work as devices.
  std::vector<std::string> directories = {};
  std::vector<File> files = {};
  std::vector<Link> links = {};
};

// Afterwards only the directories and files that the plan makes itself can be written to, until
// SealRoot() ends that too.
Result<void> SwapRoot(const RootPlan& plan);
Result<void> SealRoot();

// A writable file system of this mount namespace alone.
struct PrivateFiles {
  std::string mount_point;  // An empty directory of the root.
  std::vector<std::string> directories =
      {};  // Made in it; each also appears in the root, which has
           // a directory of that name.
};
// Mounts it. The kernel refuses what does not fit `bytes` or is one file too many.
Result<void> MountPrivateFiles(const PrivateFiles& files, std::uint64_t bytes,
                               std::uint64_t inodes);

// Looks from inside: nothing in "/", and nothing can be made there.
Result<void> VerifyEmptyRoot();

}  // namespace caisson::jail
