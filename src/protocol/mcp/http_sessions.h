// HttpSessions are the sessions of legacy clients over HTTP, found by their id.
//
// Trust     Ids are 128 random bits and valid for their owner only; those of others are not found
//           (I4). When there are too many, the owner with the most sessions loses the one that was
//           not used for the longest time, so an owner with few keeps them.
// Threads   Any. A session's own state is used on its strand only.
// Lifetime  Shared: a removed session exists until its requests have ended.
#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/strand.hpp>
#include <chrono>
#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "base/guarded.h"
#include "protocol/mcp/client_connection.h"

namespace caisson::mcp {

struct HttpSession {
  HttpSession(Principal principal, const asio::any_io_executor& io)
      : strand(asio::make_strand(io)),
        connection(std::make_shared<ClientConnection>(std::move(principal), strand)) {}

  const asio::any_io_executor strand;
  const std::shared_ptr<ClientConnection> connection;  // Shared with the exchanges.
  std::atomic<bool> listening = false;                 // The client has a stream open.
};

class HttpSessions {
 public:
  struct Limits {
    std::size_t sessions = 10'000;
    std::size_t of_one_owner = 1'000;
  };
  explicit HttpSessions(asio::any_io_executor io) : HttpSessions(std::move(io), Limits()) {}
  HttpSessions(asio::any_io_executor io, Limits limits) : limits_(limits), io_(std::move(io)) {}

  struct Begun {
    std::string id;
    std::shared_ptr<HttpSession> session;
  };
  Begun Begin(const Principal& principal);
  std::shared_ptr<HttpSession> Find(const IsolationKey& owner, const std::string& id);
  // Returns true if the session existed. Its current runs continue.
  bool End(const IsolationKey& owner, const std::string& id);

 private:
  using Time = std::chrono::steady_clock::time_point;
  using Ids = std::list<std::string>;
  struct Entry {
    std::shared_ptr<HttpSession> session;
    Time used{};
    Ids::iterator place;
  };
  // Every operation looks at a few entries only, however many there are.
  class Table {
   public:
    void Add(const std::string& id, std::shared_ptr<HttpSession> session, Time now);
    Entry* Find(const IsolationKey& owner, const std::string& id);
    void Use(Entry& entry, Time now);
    void Remove(const std::string& id);
    // Removes the session of this owner that was not used for the longest time.
    void RemoveOldest(const IsolationKey& owner);

    std::size_t size() const { return entries_.size(); }
    std::size_t CountOf(const IsolationKey& owner) const;
    const IsolationKey& owner_of_most() const { return counts_.rbegin()->second; }

   private:
    void Recount(const IsolationKey& owner, std::size_t before, std::size_t after);

    std::map<std::string, Entry> entries_;
    std::map<IsolationKey, Ids> owners_;  // In the order of their last use.
    std::set<std::pair<std::size_t, IsolationKey>> counts_;
  };

  const Limits limits_;
  const asio::any_io_executor io_;
  Guarded<Table> table_;
};

}  // namespace caisson::mcp
