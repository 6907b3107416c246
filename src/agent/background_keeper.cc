#include "agent/background_keeper.h"

#include <utility>

#include "agent/turn_events.h"
#include "agent/turn_items.h"
#include "base/spawn.h"

namespace caisson {
namespace {

std::size_t SizeOf(const TurnEvent& event) {
  if (const auto* delta = std::get_if<ItemDelta>(&event.event)) return delta->text.size();
  if (const auto* done = std::get_if<ItemDone>(&event.event)) return TextBytes(done->item);
  return 1;
}

}  // namespace

BackgroundKeeper::BackgroundKeeper(Options options, asio::any_io_executor executor)
    : options_(std::move(options)), timer_(std::move(executor)), next_(options_.next_event) {}

void BackgroundKeeper::OnEvent(const TurnEvent& event) {
  // The state of the stored turn says how it ended.
  if (std::holds_alternative<TurnEnded>(event.event)) return;
  bytes_ += SizeOf(event);
  const bool is_delta = std::holds_alternative<ItemDelta>(event.event);
  if (is_delta && bytes_ > options_.settings.max_event_bytes) return;
  if (pending_.empty() || !Merge(pending_.back(), event)) pending_.push_back(event);
  FlushSoon();
}

void BackgroundKeeper::FlushSoon() {
  if (timed_ || ended_) return;
  timed_ = true;
  timer_.expires_after(options_.settings.gather);
  timer_.async_wait([self = shared_from_this()](boost::system::error_code) {
    self->timed_ = false;
    if (self->ended_ || self->pending_.empty()) return;
    Spawn(self->timer_.get_executor(), [self]() -> asio::awaitable<void> {
      static_cast<void>(co_await self->Flush());
      if (!self->pending_.empty()) self->FlushSoon();  // The store failed, or there is more.
    });
  });
}

NewEvents BackgroundKeeper::ToNew(const std::vector<TurnEvent>& events) const {
  NewEvents encoded{.first = next_};
  for (const TurnEvent& event : events) encoded.bodies.push_back(Encode(event));
  return encoded;
}

asio::awaitable<void> BackgroundKeeper::AwaitIdle() {
  while (flushing_) {
    const auto idle = std::make_shared<Wakeup>();
    waiting_.push_back(idle);
    co_await idle->Sleep();
  }
}

void BackgroundKeeper::EndFlush() {
  flushing_ = false;
  for (const auto& each : std::exchange(waiting_, {})) each->Wake();
}

void BackgroundKeeper::Lose(const Result<void>& result) {
  if (!result && result.error().code() == ErrorCode::kFailedPrecondition && options_.on_lost) {
    options_.on_lost();
  }
}

// One at a time.
asio::awaitable<Result<void>> BackgroundKeeper::Flush() {
  co_await AwaitIdle();
  if (ended_ || pending_.empty()) co_return Result<void>();
  flushing_ = true;
  // Later events are not merged with these.
  std::vector<TurnEvent> events = std::exchange(pending_, {});
  auto stored = co_await options_.store.turns().Append(options_.owner, options_.id, options_.lease,
                                                       ToNew(events));
  if (stored) {
    next_ += events.size();
    if (options_.on_stored) options_.on_stored();
  } else {
    pending_.insert(pending_.begin(), std::move_iterator(events.begin()),
                    std::move_iterator(events.end()));
  }
  EndFlush();
  Lose(stored);
  co_return stored;
}

asio::awaitable<Result<void>> BackgroundKeeper::StoreStep(const TurnRecord& record) {
  auto flushed = co_await Flush();
  if (!flushed) co_return flushed;
  auto stored = co_await options_.store.turns().Replace(options_.owner, options_.id, options_.lease,
                                                        Encode(record), options_.clock.Now());
  Lose(stored);
  co_return stored;
}

asio::awaitable<Result<void>> BackgroundKeeper::StoreEnd(const TurnRecord& record) {
  co_await AwaitIdle();
  flushing_ = true;
  TurnRecord last = record;
  last.progress.events = next_ + pending_.size();
  const SystemTime now = options_.clock.Now();
  auto stored = co_await EndInConversation(options_.store, options_.owner, last.view,
                                           options_.conversation_length, now);
  if (stored) {
    stored = co_await options_.store.turns().End(options_.owner, options_.id, options_.lease,
                                                 Encode(last), ToNew(pending_), now);
  }
  if (stored) ended_ = true;
  EndFlush();
  Lose(stored);
  if (options_.on_stored) options_.on_stored();
  co_return stored;
}

std::optional<RunKey> BackgroundKeeper::KeyOf(const TurnItem& call) {
  return RunKey{.id = IdempotencyKey("turn " + options_.id.str() + " " + call.id),
                .expires_at = options_.clock.Now() + options_.settings.keys};
}

asio::awaitable<void> BackgroundKeeper::Finish() {
  timer_.cancel();
  co_await AwaitIdle();
  if (std::exchange(ended_, true)) co_return;
  static_cast<void>(
      co_await options_.store.turns().Release(options_.owner, options_.id, options_.lease));
}

}  // namespace caisson
