#include "jsonrpc/questions.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "base/spawn.h"

namespace caisson::jsonrpc {

asio::awaitable<Result<Value>> Questions::Ask(std::function<void(const Value& id)> send) {
  if (given_up_) co_return Error(ErrorCode::kUnavailable, "the peer has closed the connection");
  co_await asio::this_coro::throw_if_cancelled(false);
  if (co_await IsCancelled())
    co_return Error(ErrorCode::kCancelled, "cancelled before it was asked");
  const std::string id = "caisson-" + std::to_string(++asked_);
  const auto open = std::make_shared<Open>(
      Open{.answered = asio::steady_timer(executor_, asio::steady_timer::time_point::max())});
  open_.emplace(id, open);
  send(Value(id));
  co_await open->answered.async_wait(asio::as_tuple(asio::use_awaitable));
  open_.erase(id);
  if (!open->response) {
    if (!given_up_) co_return Error(ErrorCode::kCancelled, "the wait for the answer was cancelled");
    co_return Error(ErrorCode::kUnavailable, "the peer closed the connection before it answered");
  }
  if (const auto* error = std::get_if<RpcError>(&open->response->outcome)) {
    co_return Error(ErrorCode::kFailedPrecondition, error->message);
  }
  co_return std::get<Value>(std::move(open->response->outcome));
}

void Questions::Answer(Response response) {
  const auto* id = response.id.If<std::string>();
  const auto found = id == nullptr ? open_.end() : open_.find(*id);
  if (found == open_.end()) return;
  found->second->response = std::move(response);
  found->second->answered.cancel();
}

void Questions::GiveUp() {
  given_up_ = true;
  for (const auto& [id, open] : open_) open->answered.cancel();
}

}  // namespace caisson::jsonrpc
