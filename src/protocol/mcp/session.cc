#include "protocol/mcp/session.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

namespace caisson::mcp {
namespace {

std::string KeyOf(const Value& id) {
  auto key = ToJson(id);
  return key ? *std::move(key) : std::string();
}

}  // namespace

std::shared_ptr<RequestsUnderWay::Underway> RequestsUnderWay::Begin(const Value& id) {
  const auto [place, is_new] = requests_.try_emplace(KeyOf(id));
  if (!is_new) return nullptr;
  place->second = std::make_shared<Underway>();
  return place->second;
}

void RequestsUnderWay::End(const Value& id) {
  requests_.erase(KeyOf(id));
}

void RequestsUnderWay::Cancel(const Value& id) {
  const auto found = requests_.find(KeyOf(id));
  if (found == requests_.end()) return;
  const auto request = found->second;  // It may end, and be forgotten, while it is told.
  request->unwanted = true;
  request->stop.emit(asio::cancellation_type::terminal);
}

void RequestsUnderWay::StopAll() {
  const auto requests = requests_;
  for (const auto& [id, request] : requests) request->stop.emit(asio::cancellation_type::terminal);
}

asio::awaitable<Result<Value>> Questions::Ask(std::function<void(const Value& id)> send) {
  if (given_up_) co_return Error(ErrorCode::kUnavailable, "the client is gone");
  co_await asio::this_coro::throw_if_cancelled(false);
  const Value id("caisson-" + std::to_string(++asked_));
  const auto open = std::make_shared<Open>(
      Open{.answered = asio::steady_timer(executor_, asio::steady_timer::time_point::max())});
  open_.emplace(KeyOf(id), open);
  send(id);
  co_await open->answered.async_wait(asio::as_tuple(asio::use_awaitable));
  open_.erase(KeyOf(id));
  if (!open->response) co_return Error(ErrorCode::kCancelled, "nobody answered");
  if (const auto* error = std::get_if<RpcError>(&open->response->outcome)) {
    co_return Error(ErrorCode::kUnavailable, "the client answered: " + error->message);
  }
  co_return std::get<Value>(std::move(open->response->outcome));
}

void Questions::Answer(Response response) {
  const auto found = open_.find(KeyOf(response.id));
  if (found == open_.end()) return;
  found->second->response = std::move(response);
  found->second->answered.cancel();
}

void Questions::GiveUp() {
  given_up_ = true;
  for (const auto& [id, open] : open_) open->answered.cancel();
}

}  // namespace caisson::mcp
