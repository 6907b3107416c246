// StreamFrames splits the bytes that a native cell writes to its socket into frames
// (wire/fork_server_messages.h).
//
// Trust     The bytes are hostile. A frame that is too long is an error, and no more is kept than
//           one frame and the bytes that came with it.
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
  // Returns the next complete frame. nullopt: there is none yet.
  Result<std::optional<StreamedFrame>> Next();

 private:
  std::string bytes_;
  std::size_t used_ = 0;  // Bytes of bytes_ in frames that were returned.
};

}  // namespace caisson
