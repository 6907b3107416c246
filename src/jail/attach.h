// AttachTrees shows a jailed process directories of the host: below a root of its own, each through an
// overlay, so that what it writes goes to a layer that is private to it.
//
// Also what is only read is seen through an overlay. A plain bind would lead on to the host's pipes and
// sockets, which are no less usable for being mounted read-only.
//
// Trust     Privileged, in the process that is going to be hostile. The trees come from tree.h.
// Threads   Single-threaded processes only.
// Lifetime  Cannot be undone: the root is another one afterwards, and `scratch` is not in it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace caisson::jail {

struct Attachment {
  std::string path;  // Where it appears: absolute, normal, none inside another.
  UniqueFd tree;
  bool writable = false;
  // What fits into the layer, if it is writable.
  std::uint64_t layer_bytes = 0;
  std::uint64_t layer_inodes = 0;
};

// `scratch`: a directory that is the root of a file system of this namespace alone. Returns the layers of
// those that are writable, in their order: directories that hold what was written, and character devices 0:0
// in the place of what was removed.
Result<std::vector<UniqueFd>> AttachTrees(std::span<const Attachment> attachments,
                                          const std::string& scratch);

// Mounts one overlay as above, to see whether that works in this mount namespace, which is spoilt by it. Returns
// null, or the step that failed with errno telling why; no heap, as SwapRoot().
const char* TryOverlay();

}  // namespace caisson::jail
