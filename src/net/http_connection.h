// A Connection serves one client: it reads a request, runs its handler, answers, and repeats.
//
// While a handler runs, the connection watches the client. If the client disconnects, the handler
// is cancelled.
//
// Trust     The client is hostile; see request_reader.h and peer.h.
// Threads   Its own strand (the socket's executor). Finish and Abort may be called from any thread.
// Lifetime  Shared by its coroutine and the server (shared_ptr). Refers to the router, the options
//           and the budget.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <string>

#include "base/spawn.h"
#include "net/http_exchange.h"
#include "net/peer.h"
#include "net/request_reader.h"
#include "net/server.h"

namespace caisson::net {

class Connection final : public Exchange,
                         public TabledConnection,
                         public std::enable_shared_from_this<Connection> {
 public:
  // `refusal`: the answer to every request except those for reserved routes; nullopt: all are
  // served.
  Connection(asio::ip::tcp::socket socket, const Router& router, const ServerOptions& options,
             BodyBudget& bodies, std::optional<Problem> refusal);

  // Returns when the connection is closed.
  asio::awaitable<void> Run();
  // Closes the connection after the current request; at once if there is none.
  void Finish();
  void Drop() override;
  State state() const override { return reader_.state(); }
  // Also cancels the current handler.
  void Abort();

  Request& request() override { return incoming_.request; }
  asio::awaitable<Result<void>> Send(Response response) override;
  asio::awaitable<Result<std::shared_ptr<BodyStream>>> Stream(Response head,
                                                              StreamOptions options) override;

 private:
  class Body;
  enum class Answer { kNone, kWhole, kStream };

  asio::awaitable<void> Serve(Incoming incoming);
  asio::awaitable<void> Refuse(Refusal refusal);
  // Returns when the handler has ended. Meanwhile reads ahead, to notice a disconnect.
  asio::awaitable<void> Watch();
  asio::awaitable<void> AwaitHandler();
  void OnHandlerEnd(const std::exception_ptr& thrown);
  void EndAnswer();
  void Cancel();
  void FailAnswer(int status, std::string what);
  void PushAnswer(Response response);
  void PushWhole(Response response);
  void Report();

  const ServerOptions& options_;
  const std::shared_ptr<Peer> peer_;
  RequestReader reader_;

  // Fields of the current request.
  Incoming incoming_{};
  std::string method_{};  // A copy, because the handler may move the request away.
  Headers sharing_{};
  std::chrono::steady_clock::time_point begun_at_{};
  Answer answer_ = Answer::kNone;
  int status_ = 0;
  std::shared_ptr<Body> body_;  // Shared with its writers.
  std::optional<Stop> handler_{};
  asio::cancellation_signal unwatch_;  // Cancels the reading ahead.
  asio::steady_timer handler_end_;     // Never expires; it is cancelled when the handler has ended.
  bool handler_running_ = false;
  bool handler_failed_ = false;
  bool client_left_ = false;
  std::string instance_{};
  std::string failure_{};

  KeepAlive keep_alive_ = KeepAlive::kYes;
  bool finishing_ = false;
  bool aborting_ = false;
};

}  // namespace caisson::net
