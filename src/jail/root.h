// Replaces the root directory of this mount namespace by an empty, read-only one, or by one that
// holds the entries of a plan.
//
// Trust     Privileged, and destructive in the wrong namespace. Callers ensure that they are in
//           their own mount namespace.
// Threads   Single-threaded processes only.
// Lifetime  Cannot be undone: the old root is detached.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace caisson::jail {

// Returns null, or the step that failed, with the reason in errno. Does not use the heap: the probe
// calls it in the child of a clone.
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
  // Paths of the host, mounted at the same path inside: read-only, without set-id bits. Paths that
  // do not exist are skipped.
  std::vector<std::string> binds = {};
  std::vector<std::string> devices = {};  // As binds, but device nodes work.
  std::vector<std::string> directories = {};
  std::vector<File> files = {};
  std::vector<Link> links = {};
};

// Afterwards only the directories and files that the plan itself makes can be written to.
// SealRoot() ends that too.
Result<void> SwapRoot(const RootPlan& plan);
Result<void> SealRoot();

// A writable file system that exists only in this mount namespace.
struct PrivateFiles {
  std::string mount_point;  // An empty directory of the root.
  // Made in it. Each also appears in the root, which has a directory of that name.
  std::vector<std::string> directories = {};
};
// Mounts it. The kernel refuses data beyond `bytes` and files beyond `inodes`.
Result<void> MountPrivateFiles(const PrivateFiles& files, std::uint64_t bytes,
                               std::uint64_t inodes);

// Checks from inside that "/" is empty and that nothing can be made in it.
Result<void> VerifyEmptyRoot();

}  // namespace caisson::jail
