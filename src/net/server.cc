#include "net/server.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <unordered_set>
#include <utility>

#include "base/run_on.h"
#include "net/endpoint.h"
#include "net/http_connection.h"

namespace caisson::net {
namespace {

using asio::ip::tcp;
using boost::system::error_code;

constexpr auto kQuietly = asio::as_tuple(asio::use_awaitable);
// The pause after accepting failed for lack of descriptors or memory, until a connection has
// closed.
constexpr auto kAcceptPause = std::chrono::milliseconds(100);

Error CannotListen(const tcp::endpoint& endpoint, const error_code& error) {
  const std::string where = "listen on " + ToText(endpoint);
  if (error == asio::error::address_in_use) {
    return Error(
        ErrorCode::kFailedPrecondition,
        where +
            ": the address is already in use; stop the other program or choose another address");
  }
  return Error::FromErrno(error.value(), where);
}

}  // namespace

// All of it runs on `control_`, one strand.
class Server::State : public std::enable_shared_from_this<State> {
 public:
  using Duration = std::chrono::steady_clock::duration;

  State(asio::any_io_executor io, Router router, ServerOptions options)
      : io_(std::move(io)),
        control_(asio::make_strand(io_)),
        router_(std::move(router)),
        options_(std::move(options)),
        bodies_(options_.max_bodies_bytes, options_.max_bodies_bytes_per_account),
        table_(options_.connections),
        acceptor_(control_),
        left_(control_, asio::steady_timer::time_point::max()) {}

  error_code Open(const tcp::endpoint& endpoint) {
    error_code error;
    acceptor_.open(endpoint.protocol(), error);
    // A predecessor's sockets in TIME_WAIT do not prevent listening; a server that still listens
    // does.
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    return error;
  }

  tcp::endpoint endpoint() const {
    error_code ignored;
    return acceptor_.local_endpoint(ignored);
  }

  void Start() { Spawn(control_, Accept(shared_from_this())); }

  // Static: `self` must live in the coroutine's own frame.
  static asio::awaitable<void> Accept(std::shared_ptr<State> self) {
    asio::steady_timer pause(self->control_);
    while (!self->closing_) {
      auto [error, socket] =
          co_await self->acceptor_.async_accept(asio::make_strand(self->io_), kQuietly);
      if (self->closing_) break;
      if (!error) {
        co_await Take(self, std::move(socket));
      } else {
        pause.expires_after(kAcceptPause);
        co_await pause.async_wait(kQuietly);
      }
    }
  }

  static asio::awaitable<void> Close(std::shared_ptr<State> self, Duration drain) {
    self->closing_ = true;
    error_code ignored;
    self->acceptor_.close(ignored);
    for (const auto& connection : self->connections_) connection->Finish();
    asio::steady_timer patience(self->control_, drain);
    patience.async_wait([self](const error_code& cancelled) {
      if (cancelled) return;
      for (const auto& connection : self->connections_) connection->Abort();
    });
    while (!self->connections_.empty()) {
      self->left_.expires_at(asio::steady_timer::time_point::max());
      co_await self->left_.async_wait(kQuietly);
    }
    patience.cancel();
  }

  const asio::strand<asio::any_io_executor>& control() const { return control_; }

 private:
  static asio::awaitable<void> Take(std::shared_ptr<State> self, tcp::socket socket) {
    error_code unknown;
    const asio::ip::address peer = socket.remote_endpoint(unknown).address();
    auto [refusal] = self->table_.Admit(peer);
    co_await self->AwaitRoom();
    if (self->closing_ || self->table_.is_full()) co_return;  // The socket closes the connection.
    const auto executor = socket.get_executor();
    auto connection = std::make_shared<Connection>(std::move(socket), self->router_, self->options_,
                                                   self->bodies_, std::move(refusal));
    self->connections_.insert(connection);
    self->table_.Add(peer, connection);
    // If it throws, only this connection ends.
    Spawn(executor, connection->Run(), [self, connection, peer](const std::exception_ptr&) {
      asio::post(self->control_, [self, connection, peer] {
        self->table_.Remove(peer, connection);
        self->connections_.erase(connection);
        self->left_.cancel();
      });
    });
  }

  // Dropped connections need a moment to close, unless a request of theirs has arrived just then.
  asio::awaitable<void> AwaitRoom() {
    const auto until = std::chrono::steady_clock::now() + kAcceptPause;
    while (table_.is_full() && table_.some_leave() && !closing_ &&
           std::chrono::steady_clock::now() < until) {
      left_.expires_at(until);
      co_await left_.async_wait(kQuietly);
    }
  }

  const asio::any_io_executor io_;
  const asio::strand<asio::any_io_executor> control_;
  const Router router_;
  const ServerOptions options_;
  BodyBudget bodies_;
  ConnectionTable table_;
  tcp::acceptor acceptor_;
  asio::steady_timer left_;  // Cancelled when a connection has ended.
  std::unordered_set<std::shared_ptr<Connection>> connections_;
  bool closing_ = false;
};

Server::Server(std::shared_ptr<State> state, tcp::endpoint endpoint)
    : state_(std::move(state)), endpoint_(std::move(endpoint)) {}

Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::Listen(asio::any_io_executor io,
                                               const tcp::endpoint& endpoint, Router router,
                                               ServerOptions options) {
  auto state = std::make_shared<State>(std::move(io), std::move(router), std::move(options));
  if (const error_code error = state->Open(endpoint)) return CannotListen(endpoint, error);
  const tcp::endpoint listening = state->endpoint();
  return std::unique_ptr<Server>(new Server(std::move(state), listening));
}

void Server::Start() {
  state_->Start();
}

asio::awaitable<void> Server::Close(std::chrono::steady_clock::duration drain) {
  co_await RunOn(state_->control(), State::Close(state_, drain));
}

}  // namespace caisson::net
