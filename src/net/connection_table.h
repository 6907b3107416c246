// A ConnectionTable decides which connections a server keeps when it has more than it has room for.
//
// A connection is either served or waits (for a request, or for its client to disconnect). A
// waiting connection is dropped to make room for a new one: first the oldest of the same peer, if
// that peer has too many; otherwise the oldest of the peer with the most connections. If all
// connections are being served, a new one is admitted only for reserved routes (health and
// metrics), as long as there is room for those.
//
// Trust     Peers are hostile. A peer is an IPv4 address or an IPv6 /64 network. A proxy stands for
//           many clients, so the limits per peer do not apply to it.
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
#include "net/http_message.h"

namespace caisson::net {

struct ConnectionLimits {
  std::size_t connections = 1024;  // All peers together.
  std::size_t reserved = 32;       // In addition, for reserved routes only.
  std::size_t per_peer = 256;
  std::size_t slow_heads_per_peer = 64;  // Requests whose head has not arrived within slow_after.
  std::chrono::steady_clock::duration slow_after = std::chrono::seconds(1);
  std::vector<Network> proxies{};
};

// A connection as seen by the table.
class TabledConnection {
 public:
  using Time = std::chrono::steady_clock::time_point;
  enum class Phase { kIdle, kHead, kServed, kParting };
  struct State {
    Phase phase = Phase::kHead;
    Time since{};
  };
  virtual ~TabledConnection() = default;
  // May be called from any thread.
  virtual State state() const = 0;
  // Closes the connection after the answer to the current request; at once if there is none.
  virtual void Drop() = 0;
};

class ConnectionTable {
 public:
  using Address = boost::asio::ip::address;
  using Entry = std::shared_ptr<TabledConnection>;

  explicit ConnectionTable(ConnectionLimits limits) : limits_(std::move(limits)) {}

  // How to serve a new connection of `peer`.
  struct Admittance {
    // If set: the answer to every request except those for reserved routes.
    std::optional<Problem> refusal{};
  };
  // May drop other connections to make room.
  Admittance Admit(const Address& peer);
  void Add(const Address& peer, Entry connection);
  void Remove(const Address& peer, const Entry& connection);

  // Returns true if no connection may be added now.
  bool is_full() const { return size_ >= limits_.connections + limits_.reserved; }
  // Returns true if dropped connections have not closed yet.
  bool some_leave() const { return leaving_ > 0; }

 private:
  struct Slot {
    Entry connection;
    bool leaving = false;
  };
  using Slots = std::vector<Slot>;  // In order of arrival.

  static Address KeyOf(const Address& peer);
  bool IsProxy(const Address& peer) const;
  void DropSlowHeads(Slots& own);
  // Returns false if all of them are being served.
  bool DropOldest(Slots& slots);
  void DropOfLargest();
  void Drop(Slot& slot);

  const ConnectionLimits limits_;
  std::map<Address, Slots> peers_;  // No entry is empty.
  std::size_t size_ = 0;
  std::size_t leaving_ = 0;  // The number of dropped connections among `size_`.
};

}  // namespace caisson::net
