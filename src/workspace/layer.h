// ChangesOf compares a layer that the kernel kept over a mount with the directory below it.
//
// A layer contains the new state, not the old one: it says that a directory is gone, but not which
// files it had. So the directory is read after the run has ended, and a change there since the
// start of the run is a conflict.
//
// Trust     A guest wrote the layer. The directory may change at any time. Paths are resolved
//           beneath the directory only (I11).
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
  // The reason why changes below kReadWrite mounts cannot be applied: the host has changed the same
  // files.
  std::optional<Error> conflict{};
};

// Appends the layer's files, and the removed ones, to `files`.
LayerChanges ChangesOf(std::span<const Mount> mounts, Layer layer, std::vector<OutcomeFile>& files);

}  // namespace caisson::workspace
