// A Session is what lasts longer than one request: a stdio connection, or a legacy client's session over HTTP.
// It knows what the client said when it came, which requests are under way, and what the client was asked.
//
// Trust     Ids are the client's: an answer counts only for a question of this session that is open, a
//           cancellation only for a request of this session.
// Threads   One serial executor.
// Lifetime  Outlives the requests it knows of; shared by them.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/spawn.h"
#include "jsonrpc/questions.h"
#include "protocol/mcp/caller.h"
#include "protocol/mcp/message.h"

namespace caisson::mcp {

namespace asio = boost::asio;

// The requests that can be cancelled.
class RequestsUnderWay {
 public:
  struct Underway {
    Stop stop;
    bool unwanted = false;  // The client has cancelled it: nobody waits for the answer.
    bool endless = false;   // It ends when it is stopped.
  };

  // False if a request of that id is under way already.
  [[nodiscard]] bool Begin(const Value& id, std::shared_ptr<Underway> request);
  void End(const Value& id);
  void Cancel(const Value& id);
  // Nobody said that they are unwanted; they just cannot go on.
  void StopAll();
  void StopEndless();
  std::size_t size() const { return requests_.size(); }

 private:
  std::map<std::string, std::shared_ptr<Underway>> requests_;  // By the id's JSON.
};

class Session {
 public:
  Session(Principal principal, const asio::any_io_executor& executor)
      : principal(std::move(principal)), questions(executor) {}
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Who makes legacy requests here.
  Caller LegacyCaller() const {
    return {.principal = principal,
            .era = Era::kLegacy,
            .version = version,
            .capabilities = capabilities,
            .log_level = log_level};
  }

  const Principal principal;
  // As the client said in `initialize`; until then as if it could do nothing.
  std::string version{kOldestVersion};
  Dict capabilities{};
  bool initialized = false;  // It is ready to be told things.
  LogLevel log_level = LogLevel::kInfo;
  std::set<std::string> subscriptions{};

  RequestsUnderWay requests{};
  jsonrpc::Questions questions;  // What we have asked the client, in the legacy era.
};

}  // namespace caisson::mcp
