#include "engine/native/stream_frames.h"

#include <cstring>

#include "wire/fork_server_messages.h"
#include "wire/ring.h"

namespace caisson {

void StreamFrames::Add(std::string_view bytes) {
  bytes_.erase(0, used_);
  used_ = 0;
  bytes_.append(bytes);
}

Result<std::optional<StreamedFrame>> StreamFrames::Next() {
  const std::string_view rest = std::string_view(bytes_).substr(used_);
  wire::StreamFrame header;
  if (rest.size() < sizeof header) return std::optional<StreamedFrame>();
  std::memcpy(&header, rest.data(), sizeof header);
  if (header.length > wire::kMaxFramePayload) {
    return Error(ErrorCode::kInvalidArgument, "a frame is too long");
  }
  if (rest.size() - sizeof header < header.length) return std::optional<StreamedFrame>();
  used_ += sizeof header + header.length;
  return std::optional(StreamedFrame{.kind = header.kind,
                                     .flags = header.flags,
                                     .payload = rest.substr(sizeof header, header.length)});
}

}  // namespace caisson
