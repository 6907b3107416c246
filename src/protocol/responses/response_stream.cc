#include "protocol/responses/response_stream.h"

#include <stdexcept>
#include <utility>

#include "base/run_on.h"

namespace caisson::responses {

asio::awaitable<void> ResponseStream::Open() {
  net::Headers headers;
  AddHeaders(door_, caller_.names, 200, headers);
  auto events = co_await net::EventStream::Open(exchange_, std::move(headers));
  if (events) events_ = *std::move(events);
}

asio::awaitable<void> ResponseStream::Relay(std::shared_ptr<TurnFeed> feed) {
  for (;;) {
    const TurnFeed::Batch batch = co_await feed->Next();
    if (!batch.events.empty() && !is_open()) co_await Open();
    for (const TurnEvent& event : batch.events) {
      const auto* done = std::get_if<ItemDone>(&event.event);
      ImageUrls images;
      if (done != nullptr && std::holds_alternative<CodeCall>(done->item.content)) {
        images = co_await LoadImages(door_, caller_.owner, {done->item});
      }
      co_await Send(writer_.Write(event, images));
    }
    if (batch.end == TurnFeed::Batch::End::kOverflowed) {
      throw std::runtime_error("the client reads its stream too slowly");
    }
    if (batch.end != TurnFeed::Batch::End::kNo) co_return;
  }
}

asio::awaitable<void> ResponseStream::Finish(TurnView turn) {
  if (!is_open()) co_await Open();
  const ImageUrls images = co_await LoadImages(door_, caller_.owner, turn.output);
  co_await Send(writer_.Finish(turn, images));
  if (events_ && door_.form.done == Form::Done::kMarked) {
    static_cast<void>(co_await events_->Send({.data = "[DONE]"}));
  }
}

asio::awaitable<void> ResponseStream::Fail() {
  TurnView turn{.id = ResponseId(facts_.id), .agent = facts_.agent, .state = TurnState::kFailed};
  turn.error = "The server had an error; its log has the details under the request id.";
  turn.previous = facts_.previous;
  turn.conversation = facts_.conversation;
  turn.style = facts_.style;
  turn.door_data = facts_.echo;
  turn.created_at = facts_.created_at;
  co_await Finish(std::move(turn));
}

// A client that has left cannot be told: its handler is cancelled.
asio::awaitable<void> ResponseStream::Send(std::vector<net::Event> events) {
  for (const net::Event& event : events) {
    const bool wanted = !after_ || next_number_ > *after_;
    ++next_number_;
    if (events_ && wanted) {
      static_cast<void>(co_await events_->Send(event));
    }
  }
}

ResponseFacts FactsOf(const TurnView& turn) {
  return {.id = turn.id.str(),
          .agent = turn.agent,
          .echo = turn.door_data,
          .previous = turn.previous,
          .conversation = turn.conversation,
          .style = turn.style,
          .created_at = turn.created_at};
}

asio::awaitable<void> StreamStored(const Door& door, net::Exchange& exchange, Caller caller,
                                   TurnView turn, std::optional<std::uint64_t> after) {
  const auto feed = std::make_shared<TurnFeed>();
  const IsolationKey owner = caller.owner;
  const auto work = [&]() -> asio::awaitable<void> {
    static_cast<void>(co_await door.services.turns.Events(
        owner, turn.id, 0, [feed](const TurnEvent& event) { feed->Push(event); }));
    feed->Close();
  };
  ResponseStream stream(door, exchange, std::move(caller), FactsOf(turn), after);
  co_await stream.Open();
  co_await Both(work(), stream.Relay(feed));
  auto ended = co_await door.services.turns.Find(owner, turn.id);
  if (!ended) co_return co_await stream.Fail();
  // Another replica continues the turn: the client can connect again and go on after the last
  // event.
  if (!HasEnded(*ended))
    throw std::runtime_error("the turn continues after this server has stopped");
  co_await stream.Finish(*std::move(ended));
}

}  // namespace caisson::responses
