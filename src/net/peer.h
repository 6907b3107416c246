// A Peer is the client's end of a connection: its bytes in both directions and the time limits for
// them.
//
// Trust     Hostile. It may send slowly, read slowly, or disconnect at any moment.
// Threads   The connection's strand.
// Lifetime  Shared by the connection and the operations on its socket (shared_ptr), which end with
//           CutOff().
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>

namespace caisson::net {

namespace asio = boost::asio;

// Runs an action after a time, unless it is reset or cleared before. An action that is queued but
// has not run counts as not yet done.
class Deadline {
 public:
  using Duration = std::chrono::steady_clock::duration;

  explicit Deadline(const asio::any_io_executor& executor) : timer_(executor) {}

  // Precondition: `action` keeps this object alive.
  template <typename Action>
  void Set(Duration after, Action action) {
    timer_.expires_after(after);
    timer_.async_wait([this, turn = ++turn_, action = std::move(action)](
                          const boost::system::error_code& cancelled) mutable {
      if (!cancelled && turn == turn_) action();
    });
  }
  void Clear() {
    ++turn_;
    timer_.cancel();
  }

 private:
  asio::steady_timer timer_;
  std::uint64_t turn_ = 0;
};

class Peer : public std::enable_shared_from_this<Peer> {
 public:
  using Duration = Deadline::Duration;

  Peer(asio::ip::tcp::socket socket, std::size_t max_unread_bytes, Duration write_time);

  asio::ip::tcp::socket& socket() { return socket_; }
  // Received bytes that have not been used yet.
  boost::beast::flat_buffer& unread() { return unread_; }
  asio::ip::address address() const { return address_; }

  // Reads end as aborted when this time has passed.
  void ExpectWithin(Duration patience);
  void StopExpecting() { reading_.Clear(); }
  bool patience_lost() const { return patience_lost_; }

  // Sends the bytes after everything that was pushed before. Does not copy a large text.
  void Push(std::string bytes);
  std::size_t queued_bytes() const { return queue_bytes_ + sending_.size() - sent_; }
  enum class Connected { kYes, kNo };
  // Returns when at most `at_most` bytes are waiting to be sent.
  asio::awaitable<Connected> Drained(std::size_t at_most);

  bool gone() const { return gone_; }
  // Closes the connection and drops the waiting bytes.
  void CutOff();
  // Shuts down sending, then reads for a moment what the client still sends. Closing with unread
  // bytes would reset the connection, and the client would lose the answer.
  asio::awaitable<void> Part();

 private:
  void Send();
  void OnSent(const boost::system::error_code& error, std::size_t bytes);

  asio::ip::tcp::socket socket_;
  const asio::ip::address address_;
  const Duration write_time_;
  boost::beast::flat_buffer unread_;
  Deadline reading_;
  Deadline writing_;
  asio::steady_timer drained_;  // Never expires; it is cancelled when bytes have been sent.
  std::deque<std::string> queue_;
  std::size_t queue_bytes_ = 0;
  std::string sending_;
  std::size_t sent_ = 0;  // The number of bytes of `sending_` that were sent.
  bool patience_lost_ = false;
  bool gone_ = false;
};

}  // namespace caisson::net
