// AttachTrees gives a jailed process a new root with directories of the host. Each directory is
// seen through an overlay, so that writes go to a layer that is private to the process.
//
// Read-only directories are also seen through an overlay. A plain bind mount would give access to
// the host's pipes and sockets, which can still be used when they are mounted read-only.
//
// Trust     Privileged; runs in the process that will become hostile. The trees come from tree.h.
// Threads   Single-threaded processes only.
// Lifetime  Cannot be undone: the process has another root afterwards, and `scratch` is not in it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace caisson::jail {

struct Attachment {
  std::string path;  // Mount point: absolute, normalised, not inside another one.
  UniqueFd tree;
  bool writable = false;
  // Capacity of the layer, if it is writable.
  std::uint64_t layer_bytes = 0;
  std::uint64_t layer_inodes = 0;
};

// `scratch`: a directory that is the root of a file system of this namespace only. Returns the
// layers of the writable attachments, in their order: directories that hold the written files, with
// a character device 0:0 in the place of each removed file.
Result<std::vector<UniqueFd>> AttachTrees(std::span<const Attachment> attachments,
                                          const std::string& scratch);

// Mounts one overlay as above, to find out whether that works in this mount namespace. The
// namespace is unusable afterwards. Returns null, or the step that failed, with the reason in
// errno. Does not use the heap, like SwapRoot().
const char* TryOverlay();

}  // namespace caisson::jail
