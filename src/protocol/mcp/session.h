// A Session is what lasts longer than one request: a stdio connection, or a legacy client's session over HTTP.
// It knows what the client said when it came, which requests are under way, and what the client was asked.
//
// Trust     Ids are the client's: an answer counts only for a question of this session that is open, a
//           cancellation only for a request of this session.
// Threads   One serial executor.
// Lifetime  Outlives the requests it knows of; shared by them.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/result.h"
#include "protocol/mcp/caller.h"
#include "protocol/mcp/message.h"

namespace caisson::mcp {

namespace asio = boost::asio;

// The requests that can be cancelled.
class RequestsUnderWay {
 public:
  struct Underway {
    asio::cancellation_signal stop{};
    bool unwanted = false;  // The client has cancelled it: nobody waits for the answer.
  };

  // Null if a request of that id is under way.
  std::shared_ptr<Underway> Begin(const Value& id);
  void End(const Value& id);
  void Cancel(const Value& id);
  void StopAll();  // Nobody said that they are unwanted; they just cannot go on.
  std::size_t size() const { return requests_.size(); }

 private:
  std::map<std::string, std::shared_ptr<Underway>> requests_;  // By the id's JSON.
};

// What we ask the client, in the legacy era.
class Questions {
 public:
  explicit Questions(asio::any_io_executor executor) : executor_(std::move(executor)) {}

  // Calls `send` with the id to ask under and waits. An error if the client answers with one, is gone, or the
  // wait was cancelled.
  asio::awaitable<Result<Value>> Ask(std::function<void(const Value& id)> send);
  // Answers to what was not asked are ignored.
  void Answer(Response response);
  void GiveUp();  // Nobody will answer any more.

 private:
  struct Open {
    asio::steady_timer answered;
    std::optional<Response> response{};
  };

  const asio::any_io_executor executor_;
  std::map<std::string, std::shared_ptr<Open>> open_;
  std::uint64_t asked_ = 0;
  bool given_up_ = false;
};

class Session {
 public:
  Session(IsolationKey owner, const asio::any_io_executor& executor)
      : owner(std::move(owner)), questions(executor) {}
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Who makes legacy requests here.
  Caller LegacyCaller() const {
    return {.owner = owner,
            .era = Era::kLegacy,
            .version = version,
            .capabilities = capabilities,
            .log_level = log_level};
  }

  const IsolationKey owner;
  // As the client said in `initialize`; until then as if it could do nothing.
  std::string version{kOldestVersion};
  Dict capabilities{};
  LogLevel log_level = LogLevel::kInfo;
  std::set<std::string> subscriptions{};

  RequestsUnderWay requests{};
  Questions questions;
};

}  // namespace caisson::mcp
