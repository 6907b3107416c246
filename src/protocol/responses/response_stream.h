// A ResponseStream sends a turn as the event stream of a response, live or again.
//
//   ResponseStream stream(door, exchange, caller, facts, after);
//   co_await Both(turn, stream.Relay(feed));
//   co_await stream.Finish(view);
//
// Trust     The events contain hostile text (event_writer.h).
// Threads   The handler's executor.
// Lifetime  That of the handler.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "net/http_exchange.h"
#include "net/sse.h"
#include "protocol/responses/door.h"
#include "protocol/responses/event_writer.h"
#include "protocol/responses/turn_feed.h"

namespace caisson::responses {

class ResponseStream {
 public:
  // `after`: sends only events with a greater number.
  ResponseStream(const Door& door, net::Exchange& exchange, Caller caller, ResponseFacts facts,
                 std::optional<std::uint64_t> after = {})
      : door_(door),
        exchange_(exchange),
        caller_(std::move(caller)),
        facts_(std::move(facts)),
        writer_(facts_),
        after_(after) {}

  bool is_open() const { return events_.has_value(); }
  // Begins the answer. Relay does so at the first event, so that a turn that cannot begin is
  // answered with a status of its own.
  asio::awaitable<void> Open();
  // Sends what the feed brings until it is closed. Throws if the client is too slow, which cuts the
  // stream.
  asio::awaitable<void> Relay(std::shared_ptr<TurnFeed> feed);
  // Sends the last events.
  asio::awaitable<void> Finish(TurnView turn);
  // The same for a turn whose end is not known.
  asio::awaitable<void> Fail();

 private:
  asio::awaitable<void> Send(std::vector<net::Event> events);

  const Door& door_;
  net::Exchange& exchange_;
  const Caller caller_;
  const ResponseFacts facts_;
  EventWriter writer_;
  const std::optional<std::uint64_t> after_;
  std::optional<net::EventStream> events_;
  std::uint64_t next_number_ = 0;
};

// Streams a background turn from its first event, or from the one after `after`.
asio::awaitable<void> StreamStored(const Door& door, net::Exchange& exchange, Caller caller,
                                   TurnView turn, std::optional<std::uint64_t> after);

ResponseFacts FactsOf(const TurnView& turn);

}  // namespace caisson::responses
