#include "protocol/mcp/client_connection.h"

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
  found->second->unwanted = true;
  found->second->stop.Request();
}

void RequestsUnderWay::StopAll() {
  for (const auto& [id, request] : requests_) request->stop.Request();
}

void RequestsUnderWay::StopEndless() {
  for (const auto& [id, request] : requests_) {
    if (request->endless) request->stop.Request();
  }
}

}  // namespace caisson::mcp
