// Turns a fresh cell into a copy of another cell of the same fork server, from an image of that
// cell (image.h).
//
// Trust     The image is written by its source. A confined process performs its steps on itself,
//           with calls that code in it could make too. It may crash, which affects only this cell.
//           Limits are set before the first byte is read.
// Threads   One.
// Lifetime  Does not return: the process continues in SendImage(), as a branch, or sends kRefused
//           and ends.
#pragma once

#include "engine/native/forkserver/baseline.h"
#include "engine/native/forkserver/raw_frames.h"

namespace caisson::forkserver {

[[noreturn]] void Become(const Baseline& baseline, RawReader& image, int socket);

}  // namespace caisson::forkserver
