// Messages over a cell's socket that use no memory of the cell except its scratch, for the time
// while that memory is written to the socket or read from it.
//
// Trust     As FrameStream: the host is trusted. The content of an image comes from its source.
// Threads   One.
// Lifetime  Borrows the socket and the field `frames` of the scratch. When the host is gone, the
//           process ends.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/native/forkserver/baseline.h"
#include "engine/native/forkserver/frame_stream.h"
#include "wire/frames.h"

namespace caisson::forkserver {

// One incoming message.
class RawReader {
 public:
  // Takes over the bytes that `stream` has already read.
  RawReader(Scratch& scratch, FrameStream& stream);

  // Returns false if the message is shorter.
  bool Read(void* to, std::size_t bytes);
  bool Skip(std::size_t bytes);
  // Reads the rest of the message. Returns false if it is longer than `room`.
  bool ReadRest(void* to, std::size_t room, std::size_t& bytes);

  template <typename T>
  bool Take(T& out) {
    return Read(&out, sizeof out);
  }

 private:
  bool OpenFrame();
  std::size_t ReadSome(char* to, std::size_t bytes);

  Scratch& scratch_;
  const int socket_;
  std::size_t begin_ = 0;  // Bytes that were read ahead: [begin_, end_) of the scratch's frames.
  std::size_t end_ = 0;
  std::size_t left_ = 0;  // Bytes left in this frame.
  bool more_ = true;      // Frames follow.
};

// One outgoing message, or only a count of its length.
class RawWriter {
 public:
  enum class Mode { kCount, kSend };
  RawWriter(Scratch& scratch, int socket, wire::ToHost kind, Mode mode)
      : scratch_(scratch), socket_(socket), kind_(kind), mode_(mode) {}

  void Put(const void* bytes, std::size_t size);
  void End() { Flush(0); }

  template <typename T>
  void Put(const T& pod) {
    Put(&pod, sizeof pod);
  }

  std::uint64_t bytes() const { return bytes_; }
  bool counts_only() const { return mode_ == Mode::kCount; }

 private:
  void Flush(std::uint16_t flags);

  Scratch& scratch_;
  const int socket_;
  const wire::ToHost kind_;
  const Mode mode_;
  std::size_t filled_ = 0;
  std::uint64_t bytes_ = 0;
};

// Sends kRefused and ends the process.
[[noreturn]] void RefuseAndExit(int socket, std::string_view why);

}  // namespace caisson::forkserver
