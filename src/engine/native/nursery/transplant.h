// A fresh cell becomes another of the same nursery, from that one's image (image.h).
//
// Trust     An image is its source's word. What it asks for is done by a confined process to itself, with calls that code in it
//           could make too; it may end in a crash, of this cell alone. Limits are set before the first byte is looked at.
// Threads   One.
// Lifetime  Does not return: the process goes on in SendImage(), as a branch, or says kRefused and ends.
#pragma once

#include "engine/native/nursery/raw_frames.h"
#include "engine/native/nursery/stem.h"

namespace caisson::nursery {

[[noreturn]] void Become(const Stem& stem, RawReader& image, int socket);

}  // namespace caisson::nursery
