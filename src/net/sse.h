// An EventStream answers a request with server-sent events.
//
//   auto events = co_await EventStream::Open(exchange);
//   if (!events) co_return;
//   co_await events->Send({.name = "output", .data = json});
//
// Comments keep an idle stream alive. Proxies are told not to hold events back.
//
// Trust     Data may be anything: line ends in it cannot begin a field or end the event.
// Threads   Open and Send on the handler's executor, Post from anywhere.
// Lifetime  As BodyStream; copies share the stream.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <string>

#include "base/result.h"
#include "net/http_exchange.h"

namespace caisson::net {

struct Event {
  std::string name{};  // Without line ends: a constant of the protocol.
  std::string data{};
  std::string id{};
};

// Returns the event as sent, with the empty line that ends it.
std::string ToText(const Event& event);

class EventStream {
 public:
  // `headers`: further headers of the protocol.
  static asio::awaitable<Result<EventStream>> Open(Exchange& exchange, Headers headers = {});

  // Same as BodyStream::Write and Post.
  asio::awaitable<Result<void>> Send(Event event) { return body_->Write(ToText(event)); }
  void Post(const Event& event) { body_->Post(ToText(event)); }

 private:
  explicit EventStream(std::shared_ptr<BodyStream> body) : body_(std::move(body)) {}
  std::shared_ptr<BodyStream> body_;  // Shared with the connection.
};

}  // namespace caisson::net
