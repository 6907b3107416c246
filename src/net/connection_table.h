// A ConnectionTable decides which connections a server keeps when more come than it has room for.
//
// A connection waits (for a request, or for its client to leave) or is served. One that waits makes room for a newcomer:
// first the oldest of the newcomer's own peer, if that peer has too many; else the oldest of the peer that has most.
// If all are served, the newcomer is admitted for reserved routes alone (health and metrics), as long as there is room
// for those.
//
// Trust     Peers are hostile. A peer is an IPv4 address or an IPv6 network of 64 bits. Proxies count as many peers:
//           the limits of a single peer do not apply to them.
// Threads   The server's control strand.
// Lifetime  Shares its connections until Remove.
#pragma once

#include <boost/asio/ip/address.hpp>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/network.h"
#include "net/message.h"

namespace caisson::net {

struct ConnectionLimits {
  std::size_t connections = 1024;  // Of all peers.
  std::size_t reserved = 32;       // Beyond those, for reserved routes alone.
  std::size_t per_peer = 256;
  std::size_t slow_heads_per_peer = 64;  // Requests whose head has not come within slow_after.
  std::chrono::steady_clock::duration slow_after = std::chrono::seconds(1);
  std::vector<Network> proxies{};
};

// A connection, as the table sees it.
class TabledConnection {
 public:
  using Time = std::chrono::steady_clock::time_point;
  enum class Phase { kIdle, kHead, kServed, kParting };
  struct State {
    Phase phase = Phase::kHead;
    Time since{};
  };
  virtual ~TabledConnection() = default;
  // From any thread.
  virtual State state() const = 0;
  // Closes it soon: when the request that is served has its answer, at once if none is.
  virtual void Drop() = 0;
};

class ConnectionTable {
 public:
  using Address = boost::asio::ip::address;
  using Entry = std::shared_ptr<TabledConnection>;

  explicit ConnectionTable(ConnectionLimits limits) : limits_(std::move(limits)) {}

  // How a new connection of `peer` is served.
  struct Admittance {
    // Given: the answer to every request but those for reserved routes.
    std::optional<Problem> refusal{};
  };
  // May drop other connections to make room.
  Admittance Admit(const Address& peer);
  void Add(const Address& peer, Entry connection);
  void Remove(const Address& peer, const Entry& connection);

  // No connection may be added now.
  bool is_full() const { return size_ >= limits_.connections + limits_.reserved; }
  // Some were dropped and have not gone yet.
  bool some_leave() const { return leaving_ > 0; }

 private:
  struct Slot {
    Entry connection;
    bool leaving = false;
  };
  using Slots = std::vector<Slot>;  // In the order in which they came.

  static Address KeyOf(const Address& peer);
  bool IsProxy(const Address& peer) const;
  void DropSlowHeads(Slots& own);
  // False if all of them are served.
  bool DropOldest(Slots& slots);
  void DropOfLargest();
  void Drop(Slot& slot);

  const ConnectionLimits limits_;
  std::map<Address, Slots> peers_;  // None is empty.
  std::size_t size_ = 0;
  std::size_t leaving_ = 0;  // Of those.
};

}  // namespace caisson::net
