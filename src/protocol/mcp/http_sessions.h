// HttpSessions are the sessions of legacy clients over HTTP, found by the id they were given.
//
// Trust     Ids are 128 random bits and good for their owner only; those of others are not there (I4). Idle sessions
//           are forgotten, and one owner's many cost another nothing but room.
// Threads   Any. A session's own state is touched on its strand alone.
// Lifetime  Shared: a session that was forgotten stays until the requests in it have ended.
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
#include "protocol/mcp/session.h"

namespace caisson::mcp {

struct HttpSession {
  HttpSession(Principal principal, const asio::any_io_executor& io)
      : strand(asio::make_strand(io)),
        session(std::make_shared<Session>(std::move(principal), strand)) {}

  const asio::any_io_executor strand;
  const std::shared_ptr<Session> session;  // Shared with the exchanges.
  std::atomic<bool> listening = false;     // Its client has a stream open.
};

class HttpSessions {
 public:
  explicit HttpSessions(asio::any_io_executor io) : io_(std::move(io)) {}

  struct Begun {
    std::string id;
    std::shared_ptr<HttpSession> session;
  };
  // Nothing if there are too many already, none of which is idle.
  std::optional<Begun> Begin(const Principal& principal);
  std::shared_ptr<HttpSession> Find(const IsolationKey& owner, const std::string& id);
  // Whether there was one. What runs in it goes on.
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
