// ChangesOf says what a layer that the kernel kept over a mount means for the directory below it.
//
// A layer knows what is to be there, not what was: it says of a directory that it is gone, and not which files
// that were. So the directory is looked at now that the run has ended, and what was changed there since the run
// began is a conflict.
//
// Trust     The layer was written by a guest; the directory may change under our hands. Paths are resolved beneath
//           the directory only (I11).
// Threads   Any; blocks.
// Lifetime  Functions over borrowed mounts.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "engine/host_files.h"
#include "workspace/mount.h"

namespace caisson::workspace {

struct LayerChanges {
  std::vector<HostChange> changes{};
  // Why what is below kReadWrite mounts cannot be applied: the host has changed it too.
  std::optional<Error> conflict{};
};

// Appends the layer's files, and those it removed, to `files`.
LayerChanges ChangesOf(std::span<const Mount> mounts, Layer layer, std::vector<OutcomeFile>& files);

}  // namespace caisson::workspace
