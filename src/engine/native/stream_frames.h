// StreamFrames cuts what a native cell writes to its socket into frames (wire/nursery.h).
//
// Trust     The bytes are hostile: a frame that is longer than any may be is an error, and no more than
//           one frame and what came with it is ever kept.
// Threads   One.
// Lifetime  A frame's payload is valid until the next Add().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace caisson {

struct StreamedFrame {
  std::uint16_t kind = 0;
  std::uint16_t flags = 0;
  std::string_view payload;
};

class StreamFrames {
 public:
  void Add(std::string_view bytes);
  // The next frame that is complete; nothing if there is none.
  Result<std::optional<StreamedFrame>> Next();

 private:
  std::string bytes_;
  std::size_t used_ = 0;  // Of bytes_, by frames that were handed out.
};

}  // namespace caisson
