// A RequestReader takes the requests off a connection, one after the other, and refuses what is not safe to read.
//
// The head is judged before the body is read: a path that is not there, or a body that is too long, costs no more than
// its head.
//
// Trust     The bytes are hostile. Beast parses them; what Beast lets pass but another reader might see differently is
//           refused here: other codings than chunked, more than one Host, trailers (thrown away).
// Threads   The connection's strand.
// Lifetime  Refers to the router and the options; shares the peer.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "net/message.h"
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
};

// What to say to a request that reaches no handler.
struct Refusal {
  Response response;
  KeepAlive keep_alive = KeepAlive::kNo;
  std::string method{};
  Headers sharing{};
};

// The client has no more to say, or will not say it.
struct Ended {};

class RequestReader {
 public:
  RequestReader(std::shared_ptr<Peer> peer, const Router& router, const ServerOptions& options)
      : peer_(std::move(peer)), router_(router), options_(options) {}

  using Next = std::variant<Incoming, Refusal, Ended>;
  asio::awaitable<Next> Read();

  // No byte of the next request has come.
  bool idle() const { return idle_; }

 private:
  struct Head;
  asio::awaitable<bool> AwaitFirstByte();
  std::optional<Refusal> Judge(Head& head) const;
  std::optional<Refusal> JudgeFraming(const Head& head) const;
  asio::awaitable<std::optional<Refusal>> ReadBody(Head& head);

  const std::shared_ptr<Peer> peer_;
  const Router& router_;
  const ServerOptions& options_;
  bool first_ = true;
  bool idle_ = false;
};

}  // namespace caisson::net
