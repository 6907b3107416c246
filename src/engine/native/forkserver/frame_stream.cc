#include "engine/native/forkserver/frame_stream.h"

#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <span>

namespace caisson::forkserver {
namespace {

// Not exit(): exit handlers that code left behind must not run.
[[noreturn]] void HostIsGone() {
  ::_exit(EXIT_SUCCESS);
}

void WriteAll(int socket, std::span<iovec> parts) {
  while (!parts.empty()) {
    const ssize_t written = ::writev(socket, parts.data(), static_cast<int>(parts.size()));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) HostIsGone();
    auto left = static_cast<std::size_t>(written);
    while (!parts.empty() && left >= parts.front().iov_len) {
      left -= parts.front().iov_len;
      parts = parts.subspan(1);
    }
    if (left == 0) continue;
    parts.front().iov_base = static_cast<char*>(parts.front().iov_base) + left;
    parts.front().iov_len -= left;
  }
}

iovec Part(std::string_view bytes) {
  return {.iov_base = const_cast<char*>(bytes.data()), .iov_len = bytes.size()};  // Only read.
}

}  // namespace

void FrameStream::Need(std::size_t bytes) {
  if (begin_ + bytes > kBufferBytes) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  while (end_ - begin_ < bytes) {
    const ssize_t got = ::read(socket_, buffer_.get() + end_, kBufferBytes - end_);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) HostIsGone();
    end_ += static_cast<std::size_t>(got);
  }
}

wire::StreamFrame FrameStream::PeekHeader() {
  wire::StreamFrame header{};
  if (begin_ == end_) begin_ = end_ = 0;
  Need(sizeof header);
  std::memcpy(&header, buffer_.get() + begin_, sizeof header);
  return header;
}

wire::ToWorker FrameStream::PeekKind() {
  return static_cast<wire::ToWorker>(PeekHeader().kind);
}

std::string_view FrameStream::TakeEarly() {
  const std::string_view early(buffer_.get() + begin_, end_ - begin_);
  begin_ = end_ = 0;
  return early;
}

Incoming FrameStream::Read() {
  const wire::StreamFrame header = PeekHeader();
  if (header.length > wire::kMaxFramePayload) std::abort();
  Need(sizeof header + header.length);
  const std::string_view payload(buffer_.get() + begin_ + sizeof header, header.length);
  begin_ += sizeof header + header.length;
  return {.kind = static_cast<wire::ToWorker>(header.kind),
          .more = (header.flags & wire::kMoreFollows) != 0,
          .payload = payload};
}

bool FrameStream::HasNext() const {
  return begin_ < end_;
}

void FrameStream::Flush() {
  if (queued_.empty()) return;
  iovec all = Part(queued_);
  WriteAll(socket_, {&all, 1});
  queued_.clear();
}

void FrameStream::Queue(wire::ToHost kind, std::string_view head, std::string_view body) {
  const std::size_t length = head.size() + body.size();
  if (length > kQueueBytes) return Write(kind, head, body);
  if (queued_.size() + length > kQueueBytes) Flush();
  const wire::StreamFrame frame{.length = static_cast<std::uint32_t>(length),
                                .kind = static_cast<std::uint16_t>(kind),
                                .flags = 0};
  queued_.append(reinterpret_cast<const char*>(&frame), sizeof frame);
  queued_.append(head).append(body);
}

void FrameStream::Write(wire::ToHost kind, std::string_view head, std::string_view body) {
  Flush();
  while (true) {
    const std::string_view part = body.substr(0, wire::kMaxFramePayload - head.size());
    body.remove_prefix(part.size());
    const wire::StreamFrame frame{.length = static_cast<std::uint32_t>(head.size() + part.size()),
                                  .kind = static_cast<std::uint16_t>(kind),
                                  .flags = body.empty() ? std::uint16_t{0} : wire::kMoreFollows};
    std::array<iovec, 3> parts = {Part({reinterpret_cast<const char*>(&frame), sizeof frame}),
                                  Part(head), Part(part)};
    WriteAll(socket_, parts);
    if (body.empty()) return;
    head = {};
  }
}

}  // namespace caisson::forkserver
