#include "engine/native/forkserver/raw_frames.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace caisson::forkserver {
namespace {

std::size_t ReadFrom(int socket, char* to, std::size_t bytes) {
  while (true) {
    const ssize_t got = ::read(socket, to, bytes);
    if (got > 0) return static_cast<std::size_t>(got);
    if (got == 0 || errno != EINTR) ::_exit(EXIT_SUCCESS);  // The host is gone.
  }
}

void WriteTo(int socket, const char* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t written = ::write(socket, bytes, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) ::_exit(EXIT_SUCCESS);
    bytes += written;
    size -= static_cast<std::size_t>(written);
  }
}

}  // namespace

RawReader::RawReader(Scratch& scratch, FrameStream& stream)
    : scratch_(scratch), socket_(stream.socket()) {
  const std::string_view early = stream.TakeEarly();
  std::memcpy(scratch.frames.data(), early.data(), early.size());
  end_ = early.size();
}

std::size_t RawReader::ReadSome(char* to, std::size_t bytes) {
  if (begin_ == end_) return ReadFrom(socket_, to, bytes);
  const std::size_t size = std::min(bytes, end_ - begin_);
  std::memcpy(to, scratch_.frames.data() + begin_, size);
  begin_ += size;
  return size;
}

// Returns false if there is none.
bool RawReader::OpenFrame() {
  while (left_ == 0) {
    if (!more_) return false;
    wire::StreamFrame frame{};
    auto* to = reinterpret_cast<char*>(&frame);
    for (std::size_t got = 0; got < sizeof frame;) got += ReadSome(to + got, sizeof frame - got);
    left_ = frame.length;
    more_ = (frame.flags & wire::kMoreFollows) != 0;
  }
  return true;
}

bool RawReader::Read(void* to, std::size_t bytes) {
  auto* at = static_cast<char*>(to);
  while (bytes > 0) {
    if (!OpenFrame()) return false;
    const std::size_t got = ReadSome(at, std::min(bytes, left_));
    at += got;
    bytes -= got;
    left_ -= got;
  }
  return true;
}

bool RawReader::Skip(std::size_t bytes) {
  std::array<char, 512> ignored;
  for (; bytes > 0; bytes -= std::min(bytes, ignored.size())) {
    if (!Read(ignored.data(), std::min(bytes, ignored.size()))) return false;
  }
  return true;
}

bool RawReader::ReadRest(void* to, std::size_t room, std::size_t& bytes) {
  bytes = 0;
  while (OpenFrame()) {
    if (left_ > room - bytes) return false;
    bytes += left_;
    if (!Read(static_cast<char*>(to) + bytes - left_, left_)) return false;
  }
  return true;
}

void RawWriter::Flush(std::uint16_t flags) {
  const wire::StreamFrame frame{.length = static_cast<std::uint32_t>(filled_),
                                .kind = static_cast<std::uint16_t>(kind_),
                                .flags = flags};
  char* const out = scratch_.frames.data();
  std::memcpy(out, &frame, sizeof frame);
  WriteTo(socket_, out, sizeof frame + filled_);
  filled_ = 0;
}

void RawWriter::Put(const void* bytes, std::size_t size) {
  bytes_ += size;
  if (counts_only()) return;
  const auto* from = static_cast<const char*>(bytes);
  while (size > 0) {
    if (filled_ == wire::kMaxFramePayload) Flush(wire::kMoreFollows);
    const std::size_t part = std::min(size, wire::kMaxFramePayload - filled_);
    std::memcpy(scratch_.frames.data() + sizeof(wire::StreamFrame) + filled_, from, part);
    filled_ += part;
    from += part;
    size -= part;
  }
}

void RefuseAndExit(int socket, std::string_view why) {
  const wire::StreamFrame frame{.length = static_cast<std::uint32_t>(why.size()),
                                .kind = static_cast<std::uint16_t>(wire::ToHost::kRefused),
                                .flags = 0};
  WriteTo(socket, reinterpret_cast<const char*>(&frame), sizeof frame);
  WriteTo(socket, why.data(), why.size());
  ::_exit(EXIT_FAILURE);
}

}  // namespace caisson::forkserver
