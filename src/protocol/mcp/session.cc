#include "protocol/mcp/session.h"

#include <utility>

namespace caisson::mcp {
namespace {

std::string KeyOf(const Value& id) {
  auto key = ToJson(id);
  return key ? *std::move(key) : std::string();
}

}  // namespace

bool RequestsUnderWay::Begin(const Value& id, std::shared_ptr<Underway> request) {
  return requests_.try_emplace(KeyOf(id), std::move(request)).second;
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

void RequestsUnderWay::StopEndless() {
  const auto requests = requests_;
  for (const auto& [id, request] : requests) {
    if (request->endless) request->stop.emit(asio::cancellation_type::terminal);
  }
}

}  // namespace caisson::mcp
