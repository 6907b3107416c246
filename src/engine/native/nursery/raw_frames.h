// Messages over a cell's socket without a byte of the cell's memory but its scratch: for while that memory is written to the
// socket, or comes from it.
//
// Trust     As FrameStream: the host is believed. What an image says is its source's.
// Threads   One.
// Lifetime  Borrows scratch and socket; of the scratch, `frames`. When the host is gone the process ends.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/native/nursery/frame_stream.h"
#include "engine/native/nursery/stem.h"
#include "wire/frames.h"

namespace caisson::nursery {

// One message that comes in.
class RawReader {
 public:
  // Takes over what `stream` has read already.
  RawReader(Scratch& scratch, FrameStream& stream);

  // False: the message is shorter.
  bool Read(void* to, std::size_t bytes);
  bool Skip(std::size_t bytes);
  // What is left of it, if that is no more than `room`.
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
  std::size_t begin_ = 0;  // What was read too early: [begin_, end_) of the scratch's frames.
  std::size_t end_ = 0;
  std::size_t left_ = 0;  // Of this frame.
  bool more_ = true;      // Frames follow.
};

// One message that goes out, or merely its length.
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

// Says kRefused, and ends the process.
[[noreturn]] void RefuseAndExit(int socket, std::string_view why);

}  // namespace caisson::nursery
