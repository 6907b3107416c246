#include "net/stdio/line_stream.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <utility>

#include "base/spawn.h"

namespace caisson {
namespace {

constexpr std::size_t kReadBytes = 64u << 10;
constexpr auto kQuietly = asio::as_tuple(asio::use_awaitable);

}  // namespace

// The queue of lines to write, and the coroutine that empties it.
class LineStream::Writer : public std::enable_shared_from_this<Writer> {
 public:
  Writer(const asio::any_io_executor& executor, UniqueFd output)
      : output_(executor, output.Release()),
        idle_(executor, asio::steady_timer::time_point::max()) {}

  void Write(std::string line) {
    if (deaf_) return;
    line.push_back('\n');
    unsent_bytes_ += line.size();
    queue_.push_back(std::move(line));
    if (queue_.size() == 1) {
      Spawn(output_.get_executor(), Empty(shared_from_this()));
    }
  }

  asio::awaitable<void> Flush() {
    while (!queue_.empty()) {
      co_await idle_.async_wait(kQuietly);
      const auto state = co_await asio::this_coro::cancellation_state;
      if (state.cancelled() != asio::cancellation_type::none) co_return;
    }
  }

  void Close() {
    deaf_ = true;
    output_.close();
  }

  std::size_t unsent_bytes() const { return unsent_bytes_; }
  bool deaf() const { return deaf_; }

 private:
  static asio::awaitable<void> Empty(std::shared_ptr<Writer> self) {
    while (!self->queue_.empty()) {
      const std::string& next = self->queue_.front();
      const auto [error, written] =
          co_await asio::async_write(self->output_, asio::buffer(next), kQuietly);
      if (error) self->deaf_ = true;
      if (self->deaf_) break;
      self->unsent_bytes_ -= next.size();
      self->queue_.pop_front();
    }
    self->queue_.clear();
    self->unsent_bytes_ = 0;
    self->idle_.cancel();  // Wakes the coroutines that wait in Flush.
  }

  asio::posix::stream_descriptor output_;
  asio::steady_timer idle_;
  std::deque<std::string> queue_;
  std::size_t unsent_bytes_ = 0;
  bool deaf_ = false;
};

LineStream::LineStream(const asio::any_io_executor& executor, LineStreamOptions options)
    : max_line_bytes_(options.max_line_bytes),
      input_(executor, options.input.Release()),
      writer_(std::make_shared<Writer>(executor, std::move(options.output))) {}

LineStream::~LineStream() {
  Close();
}

asio::awaitable<std::optional<Line>> LineStream::Read() {
  co_await asio::this_coro::throw_if_cancelled(false);
  for (;;) {
    if (auto line = TakeLine()) co_return line;
    if (ended_) co_return std::nullopt;
    const std::size_t before = buffer_.size();
    buffer_.resize(before + kReadBytes);
    const auto [error, got] = co_await input_.async_read_some(
        asio::buffer(buffer_.data() + before, kReadBytes), kQuietly);
    buffer_.resize(before + got);
    if (error) ended_ = true;
  }
}

std::optional<Line> LineStream::TakeLine() {
  for (;;) {
    const std::size_t end = buffer_.find('\n', searched_);
    if (end == std::string::npos && !ended_) {
      searched_ = buffer_.size();
      if (buffer_.size() <= max_line_bytes_) return std::nullopt;
      // Drops the part that was read. It is reported once; the end of the line is still to be
      // found.
      buffer_.clear();
      searched_ = 0;
      if (std::exchange(skipping_, true)) return std::nullopt;
      return Line{.too_long = true};
    }
    const std::size_t size = std::min(end, buffer_.size());
    if (end == std::string::npos && size == 0) return std::nullopt;
    Line line{.too_long = size > max_line_bytes_};
    if (!line.too_long) line.text = buffer_.substr(0, size);
    buffer_.erase(0, end == std::string::npos ? size : size + 1);
    searched_ = 0;
    if (!std::exchange(skipping_, false)) return line;
  }
}

void LineStream::Write(std::string line) {
  writer_->Write(std::move(line));
}
std::size_t LineStream::unsent_bytes() const {
  return writer_->unsent_bytes();
}
bool LineStream::is_deaf() const {
  return writer_->deaf();
}
asio::awaitable<void> LineStream::Flush() {
  return writer_->Flush();
}

void LineStream::Close() {
  ended_ = true;
  input_.close();
  writer_->Close();
}

}  // namespace caisson
