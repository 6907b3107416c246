// A LineStream exchanges lines over two descriptors: this program's stdin and stdout, or those of a
// child.
//
//   LineStream lines(executor, {.input = in, .output = out});
//   while (auto line = co_await lines.Read()) { ... lines.Write(answer); }
//
// Read waits; Write never does. Lines that the peer is slow to accept are queued. A writer can see
// the size of the queue (unsent_bytes) and pause.
//
// Trust     The peer is hostile. A line that is too long is dropped as a whole, never delivered in
//           part.
// Threads   One serial executor.
// Lifetime  Close() ends a pending Read. The stream owns the descriptors and closes them at the
//           end.
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
  std::string text{};     // Without the line end.
  bool too_long = false;  // If true, `text` is empty.
};

class LineStream {
 public:
  LineStream(const asio::any_io_executor& executor, LineStreamOptions options);
  LineStream(const LineStream&) = delete;
  LineStream& operator=(const LineStream&) = delete;
  ~LineStream();

  // Returns nullopt if the peer has closed, this stream was closed, or the wait was cancelled.
  // Bytes after the last line end count as a line.
  asio::awaitable<std::optional<Line>> Read();

  // Precondition: the line has no '\n'. Does nothing if the peer no longer reads.
  void Write(std::string line);
  std::size_t unsent_bytes() const;
  // Returns true if the peer no longer reads.
  bool is_deaf() const;

  // Returns when everything is written, the peer no longer reads, or the wait was cancelled.
  asio::awaitable<void> Flush();
  void Close();

 private:
  class Writer;

  std::optional<Line> TakeLine();

  const std::size_t max_line_bytes_;
  asio::posix::stream_descriptor input_;
  std::string buffer_;
  std::size_t searched_ = 0;  // This much of the buffer has no line end.
  bool skipping_ = false;     // Inside a line that is too long.
  bool ended_ = false;
  const std::shared_ptr<Writer> writer_;  // Shared with its coroutine.
};

}  // namespace caisson
