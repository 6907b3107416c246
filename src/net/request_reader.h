// A RequestReader reads the requests of a connection, one after the other, and refuses unsafe ones.
//
// It judges the head before it reads the body. A request for an unknown path, from a sender that
// the route's screen refuses, or with a body that is too long costs no more than its head.
//
// Trust     The bytes are hostile. Beast parses them. This class also refuses input that Beast
//           accepts but another reader might interpret differently: codings other than chunked and
//           more than one Host. Trailers are dropped.
// Threads   The connection's strand.
// Lifetime  Refers to the router, the options and the budget; shares the peer.
#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "net/body_budget.h"
#include "net/connection_table.h"
#include "net/http_message.h"
#include "net/peer.h"
#include "net/router.h"
#include "net/server.h"

namespace caisson::net {

enum class KeepAlive { kYes, kNo };

struct Incoming {
  Request request;
  const Route* route = nullptr;
  KeepAlive keep_alive = KeepAlive::kYes;
  unsigned version = 11;
  BodyBudget::Share body_share{};
};

// The answer to a request that reaches no handler.
struct Refusal {
  Response response;
  KeepAlive keep_alive = KeepAlive::kNo;
  std::string method{};
  Headers sharing{};
};

// The client sent its last request, or disconnected.
struct Ended {};

class RequestReader {
 public:
  RequestReader(std::shared_ptr<Peer> peer, const Router& router, const ServerOptions& options,
                BodyBudget& bodies, std::optional<Problem> refusal)
      : peer_(std::move(peer)),
        router_(router),
        options_(options),
        bodies_(bodies),
        refusal_(std::move(refusal)) {}

  using Next = std::variant<Incoming, Refusal, Ended>;
  asio::awaitable<Next> Read();

  // Returns the phase of the connection. May be called from any thread.
  TabledConnection::State state() const {
    return {.phase = phase_.load(), .since = TabledConnection::Time(since_.load())};
  }
  void Enter(TabledConnection::Phase phase);

 private:
  struct Head;
  asio::awaitable<bool> AwaitFirstByte();
  std::optional<Refusal> Judge(Head& head) const;
  std::optional<Refusal> JudgeFraming(const Head& head) const;
  std::optional<Refusal> JudgeRoute(Head& head) const;
  asio::awaitable<std::optional<Refusal>> Screened(Head& head) const;
  Refusal BodyRefused(BodyBudget::Grown why) const;
  asio::awaitable<std::optional<Refusal>> ReadBody(Head& head);

  const std::shared_ptr<Peer> peer_;
  const Router& router_;
  const ServerOptions& options_;
  BodyBudget& bodies_;
  const std::optional<Problem> refusal_;  // As in Connection.
  bool first_ = true;
  std::atomic<TabledConnection::Phase> phase_ = TabledConnection::Phase::kHead;
  std::atomic<std::chrono::steady_clock::duration> since_ =
      std::chrono::steady_clock::now().time_since_epoch();
};

}  // namespace caisson::net
