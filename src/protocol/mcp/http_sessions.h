// HttpSessions are the sessions of legacy clients over HTTP, found by their id.
//
// Trust     Ids are 128 random bits and valid for their owner only; those of others are not found
//           (I4). Idle sessions are removed. Many sessions of one owner cost other owners only
//           room.
// Threads   Any. A session's own state is used on its strand only.
// Lifetime  Shared: a removed session exists until its requests have ended.
#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/strand.hpp>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/guarded.h"
#include "protocol/mcp/client_connection.h"

namespace caisson::mcp {

struct HttpSession {
  HttpSession(Principal principal, const asio::any_io_executor& io)
      : strand(asio::make_strand(io)),
        session(std::make_shared<ClientConnection>(std::move(principal), strand)) {}

  const asio::any_io_executor strand;
  const std::shared_ptr<ClientConnection> session;  // Shared with the exchanges.
  std::atomic<bool> listening = false;              // The client has a stream open.
};

class HttpSessions {
 public:
  explicit HttpSessions(asio::any_io_executor io) : io_(std::move(io)) {}

  struct Begun {
    std::string id;
    std::shared_ptr<HttpSession> session;
  };
  // Returns nullopt if there are too many and none is idle.
  std::optional<Begun> Begin(const Principal& principal);
  std::shared_ptr<HttpSession> Find(const IsolationKey& owner, const std::string& id);
  // Returns true if the session existed. Its current runs continue.
  bool End(const IsolationKey& owner, const std::string& id);

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Entry {
    std::shared_ptr<HttpSession> session;
    Time used{};
  };
  using Entries = std::map<std::string, Entry>;
  static bool MakeRoom(Entries& entries, const IsolationKey& owner, Time now);

  const asio::any_io_executor io_;
  Guarded<Entries> entries_;
};

}  // namespace caisson::mcp
