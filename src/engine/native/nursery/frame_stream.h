// A FrameStream is a cell's end of its socket: frames of wire/frames.h, each behind a StreamFrame.
//
// Trust     The host is believed. Code in this process can write to the socket by itself, so the host
//           believes nothing that comes out.
// Threads   One reads and one writes (or queues) at a time; who that is, is the caller's business.
// Lifetime  Borrows the descriptor. When the host is gone there is nobody to work for: the process ends.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "wire/frames.h"
#include "wire/nursery.h"

namespace caisson::nursery {

struct Incoming {
  wire::ToWorker kind{};
  bool more = false;         // The message goes on in the next frame.
  std::string_view payload;  // Valid until the next Read().
};

class FrameStream {
 public:
  FrameStream() : buffer_(std::make_unique_for_overwrite<char[]>(kBufferBytes)) {}
  // The other end changes; nothing of the one before is kept.
  void Connect(int socket) {
    socket_ = socket;
    begin_ = end_ = 0;
  }

  Incoming Read();
  // The next frame's kind, which is still to be read.
  wire::ToWorker PeekKind();
  // Whether Read() would not have to wait for a byte.
  bool HasNext() const;
  // What was read of frames that nobody has asked for yet: somebody else goes on with the socket.
  std::string_view TakeEarly();

  int socket() const { return socket_; }

  // One message, in as many frames as it takes, after whatever is queued.
  void Write(wire::ToHost kind, std::string_view head, std::string_view body);
  // The same, to be sent with the next Write() or Flush(), or when enough has come together.
  void Queue(wire::ToHost kind, std::string_view head, std::string_view body);
  void Flush();

 private:
  static constexpr std::size_t kQueueBytes = 32 << 10;
  static constexpr std::size_t kBufferBytes = sizeof(wire::StreamFrame) + wire::kMaxFramePayload;

  void Need(std::size_t bytes);
  wire::StreamFrame PeekHeader();

  int socket_ = -1;
  // What was read and not handed out: [begin_, end_).
  std::unique_ptr<char[]> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::string queued_;  // Whole frames.
};

}  // namespace caisson::nursery
