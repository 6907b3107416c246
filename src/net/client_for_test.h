// Test fixtures of this folder: a server on a free port with two threads, and a client that can
// send anything.
//
// Trust     For tests.
// Threads   The client blocks; the server has its own threads.
// Lifetime  A TestServer closes in its destructor. Clients may be destroyed before or after it.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/spawn.h"
#include "net/server.h"

namespace caisson::net {

class TestServer {
 public:
  explicit TestServer(Router router, ServerOptions options = {}) {
    auto server = Server::Listen(io_.get_executor(), {asio::ip::address_v4::loopback(), 0},
                                 std::move(router), std::move(options));
    if (!server) ADD_FAILURE() << server.error().message();
    server_ = *std::move(server);
    server_->Start();
    for (int i = 0; i < 2; ++i) threads_.emplace_back([this] { io_.run(); });
  }
  ~TestServer() {
    if (server_) Close(std::chrono::milliseconds(0));
    work_.reset();
    for (std::thread& thread : threads_) thread.join();
  }

  const asio::ip::tcp::endpoint& endpoint() const { return server_->endpoint(); }
  std::future<void> BeginClose(std::chrono::milliseconds drain) {
    return SpawnFuture(io_.get_executor(), server_->Close(drain));
  }
  void Close(std::chrono::milliseconds drain) {
    BeginClose(drain).get();
    server_.reset();
  }

 private:
  asio::io_context io_;
  asio::executor_work_guard<asio::io_context::executor_type> work_{io_.get_executor()};
  std::unique_ptr<Server> server_;
  std::vector<std::thread> threads_;
};

// Every read ends after ten seconds, so that a silent server fails the test instead of blocking it.
class TestClient {
 public:
  // `from`: another local address, to act as another peer.
  explicit TestClient(const asio::ip::tcp::endpoint& endpoint, const char* from = "127.0.0.1")
      : socket_(io_) {
    socket_.open(asio::ip::tcp::v4());
    socket_.bind({asio::ip::make_address(from), 0});
    socket_.connect(endpoint);
    const timeval patience{.tv_sec = 10, .tv_usec = 0};
    ::setsockopt(socket_.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  }

  void Send(std::string_view bytes) {
    boost::system::error_code ignored;  // A server that refuses may have closed already.
    asio::write(socket_, asio::buffer(bytes), ignored);
  }
  void HalfClose() { socket_.shutdown(asio::ip::tcp::socket::shutdown_send); }
  void Close() { socket_.close(); }
  // Makes the connection fill up soon with the server's answers.
  void ShrinkReceiveBuffer() { socket_.set_option(asio::socket_base::receive_buffer_size(4096)); }

  // Reads up to and including `end`, or until the server closes.
  std::string ReadTo(std::string_view end) {
    while (unread_.find(end) == unread_.npos && Receive()) {
    }
    const std::size_t found = unread_.find(end);
    return Take(found == unread_.npos ? unread_.size() : found + end.size());
  }
  std::string ReadAll() {
    while (Receive()) {
    }
    return Take(unread_.size());
  }
  // Reads one answer with a Content-Length: head and body.
  std::string ReadAnswer() {
    std::string answer = ReadTo("\r\n\r\n");
    const std::size_t length = answer.find("Content-Length: ");
    if (length == answer.npos) return answer;
    const std::size_t size = std::stoul(answer.substr(length + 16));
    while (unread_.size() < size && Receive()) {
    }
    return answer + Take(size);
  }
  // Returns true if the server closed the connection in time.
  bool IsClosed() {
    while (Receive()) {
    }
    return closed_;
  }

 private:
  bool Receive() {
    std::array<char, 4096> buffer;
    // Not through Asio, which would wait longer than SO_RCVTIMEO.
    const ssize_t got = ::recv(socket_.native_handle(), buffer.data(), buffer.size(), 0);
    if (got > 0) unread_.append(buffer.data(), static_cast<std::size_t>(got));
    if (got == 0 || (got < 0 && errno == ECONNRESET)) closed_ = true;
    return got > 0;
  }
  std::string Take(std::size_t size) {
    std::string taken = unread_.substr(0, size);
    unread_.erase(0, taken.size());
    return taken;
  }

  asio::io_context io_;
  asio::ip::tcp::socket socket_;
  std::string unread_;
  bool closed_ = false;
};

}  // namespace caisson::net
