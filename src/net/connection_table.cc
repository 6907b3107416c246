#include "net/connection_table.h"

#include <algorithm>
#include <string>
#include <utility>

namespace caisson::net {
namespace {

using Phase = TabledConnection::Phase;

std::size_t Staying(const auto& slots) {
  return static_cast<std::size_t>(
      std::ranges::count_if(slots, [](const auto& slot) { return !slot.leaving; }));
}

Problem Refusal(int status, std::string who, std::string setting, std::size_t most) {
  return {.status = status,
          .detail = std::move(who) + "; at most " + std::to_string(most) + " are allowed (" +
                    std::move(setting) + "). Close some, or try again later"};
}

}  // namespace

// A host with one IPv6 address usually has the 2^64 addresses of its network.
ConnectionTable::Address ConnectionTable::KeyOf(const Address& peer) {
  const Address address = WithoutMapping(peer);
  if (address.is_v4()) return address;
  auto bytes = address.to_v6().to_bytes();
  std::fill(bytes.begin() + 8, bytes.end(), 0);
  return boost::asio::ip::address_v6(bytes);
}

bool ConnectionTable::IsProxy(const Address& peer) const {
  return std::ranges::any_of(limits_.proxies,
                             [&](const Network& network) { return network.Contains(peer); });
}

void ConnectionTable::Drop(Slot& slot) {
  slot.leaving = true;
  ++leaving_;
  slot.connection->Drop();
}

bool ConnectionTable::DropOldest(Slots& slots) {
  Slot* oldest = nullptr;
  TabledConnection::Time since;
  for (Slot& slot : slots) {
    if (slot.leaving) continue;
    const auto state = slot.connection->state();
    if (state.phase == Phase::kServed || (oldest != nullptr && state.since >= since)) continue;
    oldest = &slot;
    since = state.since;
  }
  if (oldest == nullptr) return false;
  Drop(*oldest);
  return true;
}

void ConnectionTable::DropSlowHeads(Slots& own) {
  const auto begun_before = std::chrono::steady_clock::now() - limits_.slow_after;
  std::vector<Slot*> slow;
  for (Slot& slot : own) {
    const auto state = slot.connection->state();
    if (!slot.leaving && state.phase == Phase::kHead && state.since <= begun_before) {
      slow.push_back(&slot);
    }
  }
  for (std::size_t i = 0; slow.size() - i > limits_.slow_heads_per_peer; ++i) Drop(*slow[i]);
}

void ConnectionTable::DropOfLargest() {
  std::vector<std::pair<std::size_t, Slots*>> peers;
  for (auto& [key, slots] : peers_) peers.emplace_back(Staying(slots), &slots);
  std::ranges::sort(peers, std::ranges::greater(), [](const auto& peer) { return peer.first; });
  std::ranges::find_if(peers, [&](const auto& peer) { return DropOldest(*peer.second); });
}

ConnectionTable::Admittance ConnectionTable::Admit(const Address& peer) {
  const auto found = peers_.find(KeyOf(peer));
  Admittance admittance;
  if (found != peers_.end() && !IsProxy(peer)) {
    Slots& own = found->second;
    DropSlowHeads(own);
    if (Staying(own) >= limits_.per_peer && !DropOldest(own)) {
      admittance.refusal = Refusal(429, "too many connections come from this address",
                                   "server.max_connections_per_peer", limits_.per_peer);
    }
  }
  if (size_ - leaving_ >= limits_.connections) DropOfLargest();
  if (size_ - leaving_ >= limits_.connections) {
    admittance.refusal = Refusal(503, "the server has too many connections",
                                 "server.max_connections", limits_.connections);
  }
  return admittance;
}

void ConnectionTable::Add(const Address& peer, Entry connection) {
  peers_[KeyOf(peer)].push_back({.connection = std::move(connection)});
  ++size_;
}

void ConnectionTable::Remove(const Address& peer, const Entry& connection) {
  const auto found = peers_.find(KeyOf(peer));
  if (found == peers_.end()) return;
  const auto slot = std::ranges::find(found->second, connection, &Slot::connection);
  if (slot == found->second.end()) return;
  if (slot->leaving) --leaving_;
  --size_;
  found->second.erase(slot);
  if (found->second.empty()) peers_.erase(found);
}

}  // namespace caisson::net
