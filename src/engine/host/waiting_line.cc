#include "engine/host/waiting_line.h"

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>
#include <utility>

namespace caisson {
namespace {

using PlaceHandler = asio::any_completion_handler<void(Result<Admission::Place>)>;

// One request in the waiting line. Belongs to its home lane. Shared by the timer, the line's
// callback and the canceller; the first of them finishes it.
class LineEntry : public std::enable_shared_from_this<LineEntry> {
 public:
  LineEntry(EngineLane& home, PlaceHandler handler)
      : home_(home), timer_(home.context()), handler_(std::move(handler)) {}

  asio::cancellation_slot slot() const { return asio::get_associated_cancellation_slot(handler_); }

  void Join(const OwnerId& owner, std::chrono::nanoseconds wait) {
    auto ticket = home_.state().admission.Join(
        owner, [self = shared_from_this()](Result<Admission::Place> place) {
          asio::post(self->home_.context(), [self, place = std::move(place)]() mutable {
            self->Finish(std::move(place));
          });
        });
    if (!ticket) return Finish(std::move(ticket).error());
    ticket_ = *ticket;
    timer_.expires_after(wait);
    timer_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
      if (!error) self->Leave(ErrorCode::kDeadlineExceeded, "no cell became free in time");
    });
  }

  void Leave(ErrorCode code, const char* why) {
    // If the entry has left the line, its place is on the way and will be used.
    if (handler_ && home_.state().admission.Leave(ticket_)) Finish(Error(code, why));
  }

 private:
  void Finish(Result<Admission::Place> place) {
    timer_.cancel();
    auto executor = asio::get_associated_executor(handler_, home_.executor());
    asio::dispatch(executor, [handler = std::move(handler_), place = std::move(place)]() mutable {
      asio::get_associated_cancellation_slot(handler).clear();
      std::move(handler)(std::move(place));
    });
    handler_ = nullptr;
  }

  EngineLane& home_;
  asio::steady_timer timer_;
  PlaceHandler handler_;
  Admission::Ticket ticket_ = 0;
};

}  // namespace

asio::awaitable<Result<Admission::Place>> AwaitPlace(EngineLane& home, OpenOptions options) {
  return asio::async_initiate<const asio::use_awaitable_t<>, void(Result<Admission::Place>)>(
      [](auto handler, EngineLane* lane, OpenOptions opts) {
        auto entry = std::make_shared<LineEntry>(*lane, PlaceHandler(std::move(handler)));
        // Use the entry's slot: the PlaceHandler has taken the handler.
        if (auto slot = entry->slot(); slot.is_connected()) {
          slot.assign([weak = std::weak_ptr(entry), lane](asio::cancellation_type) {
            asio::dispatch(lane->context(), [weak] {
              if (auto line = weak.lock()) line->Leave(ErrorCode::kCancelled, "cancelled");
            });
          });
        }
        asio::post(lane->context(),
                   [entry, opts = std::move(opts)] { entry->Join(opts.owner, opts.wait); });
      },
      asio::use_awaitable, &home, std::move(options));
}

}  // namespace caisson
