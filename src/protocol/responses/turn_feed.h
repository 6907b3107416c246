// A TurnFeed carries the events of a turn to the coroutine that sends them.
//
// Trust     The events contain hostile text. Their size is bounded: a client that reads too slowly
//           loses its stream.
// Threads   Push and Close from any thread. One reader.
// Lifetime  Shared by the turn and the reader (shared_ptr), because either may end first.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "agent/turn.h"
#include "base/guarded.h"
#include "base/wakeup.h"

namespace caisson::responses {

namespace asio = boost::asio;

class TurnFeed {
 public:
  static constexpr std::size_t kMaxWaitingBytes = 16u << 20;

  void Push(const TurnEvent& event) {
    std::shared_ptr<Wakeup> reader;
    {
      auto state = state_.Lock();
      if (state->closed) return;
      state->bytes += TextBytes(event);
      state->overflowed = state->overflowed || state->bytes > kMaxWaitingBytes;
      if (!state->overflowed) state->events.push_back(event);
      reader = std::exchange(state->reader, nullptr);
    }
    if (reader) reader->Wake();
  }
  void Close() {
    std::shared_ptr<Wakeup> reader;
    {
      auto state = state_.Lock();
      state->closed = true;
      reader = std::exchange(state->reader, nullptr);
    }
    if (reader) reader->Wake();
  }

  struct Batch {
    std::vector<TurnEvent> events{};
    enum class End { kNo, kClosed, kOverflowed, kCancelled };
    End end = End::kNo;  // No events follow.
  };
  asio::awaitable<Batch> Next() {
    for (;;) {
      const auto wakeup = std::make_shared<Wakeup>();
      {
        auto state = state_.Lock();
        Batch batch{.events = std::exchange(state->events, {})};
        state->bytes = 0;
        if (state->closed) batch.end = Batch::End::kClosed;
        if (state->overflowed) batch.end = Batch::End::kOverflowed;
        if (!batch.events.empty() || batch.end != Batch::End::kNo) co_return batch;
        state->reader = wakeup;
      }
      if (co_await wakeup->Sleep() == Wakeup::Reason::kCancelled) {
        co_return Batch{.end = Batch::End::kCancelled};
      }
    }
  }

 private:
  struct State {
    std::vector<TurnEvent> events;
    std::size_t bytes = 0;
    bool closed = false;
    bool overflowed = false;
    std::shared_ptr<Wakeup> reader;
  };

  static std::size_t TextBytes(const TurnEvent& event) {
    constexpr std::size_t kEventBytes = 200;
    if (const auto* delta = std::get_if<ItemDelta>(&event.event)) {
      return kEventBytes + delta->text.size();
    }
    const auto* done = std::get_if<ItemDone>(&event.event);
    if (done == nullptr) return kEventBytes;
    if (const auto* code = std::get_if<CodeCall>(&done->item.content)) {
      return kEventBytes + code->code.size() + code->logs.size();
    }
    if (const auto* call = std::get_if<HostToolCall>(&done->item.content)) {
      return kEventBytes + call->arguments.size() + call->output.size();
    }
    return kEventBytes;
  }

  Guarded<State> state_;
};

}  // namespace caisson::responses
