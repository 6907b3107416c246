#include "net/peer.h"

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

namespace caisson::net {
namespace {

using boost::system::error_code;

constexpr auto kQuietly = asio::as_tuple(asio::use_awaitable);
// The limits of Part(): its time, and the bytes that it reads.
constexpr auto kPartingTime = std::chrono::seconds(2);
constexpr std::size_t kPartingBytes = 16u << 20;
// Texts up to this size are sent together.
constexpr std::size_t kJoinedBytes = 16u << 10;
// The kernel takes some megabytes at once, and copies them on this thread. Other connections get
// their turn in between.
constexpr std::size_t kWriteBytes = 256u << 10;

asio::ip::address AddressOf(const asio::ip::tcp::socket& socket) {
  error_code unknown;
  return socket.remote_endpoint(unknown).address();
}

}  // namespace

Peer::Peer(asio::ip::tcp::socket socket, std::size_t max_unread_bytes, Duration write_time)
    : socket_(std::move(socket)),
      address_(AddressOf(socket_)),
      write_time_(write_time),
      unread_(max_unread_bytes),
      reading_(socket_.get_executor()),
      writing_(socket_.get_executor()),
      drained_(socket_.get_executor(), asio::steady_timer::time_point::max()) {
  error_code ignored;
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
}

void Peer::ExpectWithin(Duration patience) {
  patience_lost_ = false;
  reading_.Set(patience, [self = shared_from_this()] {
    self->patience_lost_ = true;
    error_code ignored;
    self->socket_.cancel(ignored);
  });
}

void Peer::Push(std::string bytes) {
  if (gone_ || bytes.empty()) return;
  queue_bytes_ += bytes.size();
  if (!queue_.empty() && queue_.back().size() + bytes.size() <= kJoinedBytes) {
    queue_.back() += bytes;
  } else {
    queue_.push_back(std::move(bytes));
  }
  if (sending_.empty()) Send();
}

void Peer::Send() {
  if (sent_ == sending_.size()) {
    sending_ = {};
    sent_ = 0;
    if (queue_.empty()) return writing_.Clear();
    sending_ = std::move(queue_.front());
    queue_.pop_front();
    queue_bytes_ -= sending_.size();
  }
  writing_.Set(write_time_, [self = shared_from_this()] { self->CutOff(); });
  socket_.async_write_some(asio::buffer(asio::buffer(sending_) + sent_, kWriteBytes),
                           [self = shared_from_this()](const error_code& error, std::size_t bytes) {
                             self->OnSent(error, bytes);
                           });
}

void Peer::OnSent(const error_code& error, std::size_t bytes) {
  if (gone_) return;
  // The reader's deadline also cancels writes; that is not a failure.
  if (error && error != asio::error::operation_aborted) return CutOff();
  sent_ += bytes;
  Send();
  drained_.cancel();
}

asio::awaitable<Peer::Connected> Peer::Drained(std::size_t at_most) {
  while (!gone_ && queued_bytes() > at_most) {
    [[maybe_unused]] const auto woken = co_await drained_.async_wait(kQuietly);
  }
  co_return gone_ ? Connected::kNo : Connected::kYes;
}

void Peer::CutOff() {
  if (gone_) return;
  gone_ = true;
  error_code ignored;
  socket_.close(ignored);
  reading_.Clear();
  writing_.Clear();
  drained_.cancel();
}

asio::awaitable<void> Peer::Part() {
  error_code ignored;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  std::array<char, 16384> discarded;
  std::size_t total = 0;
  ExpectWithin(kPartingTime);
  while (!gone_ && total < kPartingBytes) {
    const auto [error, bytes] = co_await socket_.async_read_some(asio::buffer(discarded), kQuietly);
    if (error) break;
    total += bytes;
  }
  CutOff();
}

}  // namespace caisson::net
