// A LineStream is a conversation in lines over two descriptors: our own stdin and stdout, or a child's.
//
//   LineStream lines(executor, {.input = in, .output = out});
//   while (auto line = co_await lines.Read()) { ... lines.Write(answer); }
//
// Reading waits, writing never does: what the other side is slow to take is queued, and whoever writes can see
// how much that is (unsent_bytes) and hold back.
//
// Trust     The other side is hostile: a line that is too long is dropped as a whole, never handed on in part.
// Threads   One serial executor.
// Lifetime  Close() ends a Read under way. The descriptors are ours and closed at the end.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "base/unique_fd.h"

namespace caisson {

namespace asio = boost::asio;

struct LineStreamOptions {
  UniqueFd input;
  UniqueFd output;
  std::size_t max_line_bytes = 16u << 20;
};

struct Line {
  std::string text{};     // Without its end.
  bool too_long = false;  // Then there is no text.
};

class LineStream {
 public:
  LineStream(const asio::any_io_executor& executor, LineStreamOptions options);
  LineStream(const LineStream&) = delete;
  LineStream& operator=(const LineStream&) = delete;
  ~LineStream();

  // Nothing when the other side has closed, the stream was closed here, or the wait was cancelled. Bytes after
  // the last line end are a line too.
  asio::awaitable<std::optional<Line>> Read();

  // Precondition: no '\n' in it. Nothing happens once the other side has stopped listening.
  void Write(std::string line);
  std::size_t unsent_bytes() const;
  // Whether the other side has stopped listening.
  bool is_deaf() const;

  // Returns when everything is written, nobody listens, or the wait was cancelled.
  asio::awaitable<void> Flush();
  void Close();

 private:
  class Writer;

  std::optional<Line> TakeLine();

  const std::size_t max_line_bytes_;
  asio::posix::stream_descriptor input_;
  std::string buffer_;
  std::size_t searched_ = 0;  // So much of the buffer has no line end.
  bool skipping_ = false;     // Inside a line that is too long.
  bool ended_ = false;
  const std::shared_ptr<Writer> writer_;  // Shared with its coroutine.
};

}  // namespace caisson
