// Writes a cell's private files (/tmp, /output, /input) into its image, and makes them again from
// an image.
//
// Trust     While they are written, hostile code made the tree, but nothing else of this process
//           runs. While they are made, the names come from the image and are resolved within the
//           cell's own root, behind all of its walls.
// Threads   One. Writing does not use the heap, except for an error.
// Lifetime  Functions.
#pragma once

#include <sys/stat.h>

#include "base/result.h"
#include "engine/native/forkserver/raw_frames.h"

namespace caisson::forkserver {

// Is called for everything in the tree that is written.
class TreeVisitor {
 public:
  virtual ~TreeVisitor() = default;
  virtual Result<void> See(const struct stat& status, const char* path) = 0;
};

// Excludes mounts below them. Fails with a readable reason if something cannot be copied. `visitor`
// may be null.
Result<void> WritePrivateTree(RawWriter& out, TreeVisitor* visitor);

Result<void> MakePrivateTree(RawReader& in);

}  // namespace caisson::forkserver
