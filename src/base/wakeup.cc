#include "base/wakeup.h"

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

namespace caisson {

void Wakeup::End(Reason reason) {
  Resume sleeper;
  {
    auto state = state_.Lock();
    if (reason == Reason::kWoken) state->woken = true;
    sleeper = std::exchange(state->sleeper, nullptr);
  }
  if (sleeper) sleeper(reason);
}

asio::awaitable<Wakeup::Reason> Wakeup::Sleep() {
  return asio::async_initiate<const asio::use_awaitable_t<>, void(Reason)>(
      [self = shared_from_this()](auto handler) {
        auto slot = asio::get_associated_cancellation_slot(handler);
        if (slot.is_connected()) {
          slot.assign([weak = std::weak_ptr(self)](asio::cancellation_type) {
            if (auto wakeup = weak.lock()) wakeup->End(Reason::kCancelled);
          });
        }
        auto executor = asio::get_associated_executor(handler);
        Resume resume = [executor, handler = std::move(handler)](Reason reason) mutable {
          asio::post(executor, [handler = std::move(handler), reason]() mutable {
            asio::get_associated_cancellation_slot(handler).clear();
            std::move(handler)(reason);
          });
        };
        {
          auto state = self->state_.Lock();
          if (!state->woken) {
            state->sleeper = std::move(resume);
            return;
          }
        }
        resume(Reason::kWoken);
      },
      asio::use_awaitable);
}

}  // namespace caisson
