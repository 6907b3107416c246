// A FrameStream is a cell's end of its socket: frames of wire/frames.h, each after a StreamFrame.
//
// Trust     The host is trusted. Code in this process can write to the socket directly, so the host
//           trusts nothing that comes out.
// Threads   One thread reads and one writes (or queues) at a time; the caller ensures that.
// Lifetime  Borrows the descriptor. When the host is gone, the process ends.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "wire/fork_server_messages.h"
#include "wire/frames.h"

namespace caisson::forkserver {

struct Incoming {
  wire::ToWorker kind{};
  bool more = false;         // The message continues in the next frame.
  std::string_view payload;  // Valid until the next Read().
};

class FrameStream {
 public:
  FrameStream() : buffer_(std::make_unique_for_overwrite<char[]>(kBufferBytes)) {}
  // Switches to another socket; drops all data of the previous one.
  void Connect(int socket) {
    socket_ = socket;
    begin_ = end_ = 0;
  }

  Incoming Read();
  // Returns the kind of the next frame without reading it.
  wire::ToWorker PeekKind();
  // Returns whether Read() would not have to wait.
  bool HasNext() const;
  // Returns the bytes that were read ahead, for another reader that continues with the socket.
  std::string_view TakeEarly();

  int socket() const { return socket_; }

  // Writes one message, in as many frames as needed, after the queued ones.
  void Write(wire::ToHost kind, std::string_view head, std::string_view body);
  // The same, to be sent with the next Write() or Flush(), or when the queue is long enough.
  void Queue(wire::ToHost kind, std::string_view head, std::string_view body);
  void Flush();

 private:
  static constexpr std::size_t kQueueBytes = 32 << 10;
  static constexpr std::size_t kBufferBytes = sizeof(wire::StreamFrame) + wire::kMaxFramePayload;

  void Need(std::size_t bytes);
  wire::StreamFrame PeekHeader();

  int socket_ = -1;
  // Bytes that were read and not returned yet: [begin_, end_).
  std::unique_ptr<char[]> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::string queued_;  // Whole frames.
};

}  // namespace caisson::forkserver
