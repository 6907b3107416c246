// A cell's private files (/tmp, /output, /input) as part of its image, and as files again.
//
// Trust     Writing them down, the tree is what hostile code made it; nothing else of this process runs meanwhile. Making
//           them, names are the image's and resolved within the cell's own root, behind all of its walls.
// Threads   One. No heap while they are written down, except for an error.
// Lifetime  Functions.
#pragma once

#include <sys/stat.h>

#include "base/result.h"
#include "engine/native/nursery/raw_frames.h"

namespace caisson::nursery {

// Sees everything in the tree that is written down.
class TreeVisitor {
 public:
  virtual ~TreeVisitor() = default;
  virtual Result<void> See(const struct stat& status, const char* path) = 0;
};

// Mounts below them are not theirs. Fails, with a reason for people, on what cannot be carried. `visitor` may be null.
Result<void> WritePrivateTree(RawWriter& out, TreeVisitor* visitor);

Result<void> MakePrivateTree(RawReader& in);

}  // namespace caisson::nursery
