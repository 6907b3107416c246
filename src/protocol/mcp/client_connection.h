// A ClientConnection holds the state of one client that outlives a request: of a stdio connection,
// or of a legacy client's session over HTTP. It knows the client's `initialize`, the current
// requests, and the open questions to the client.
//
// Trust     Ids are the client's. An answer counts only for an open question of this connection, a
//           cancellation only for a request of this connection.
// Threads   One serial executor.
// Lifetime  Shared by its requests and outlives them.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/spawn.h"
#include "jsonrpc/questions.h"
#include "protocol/mcp/mcp_caller.h"
#include "protocol/mcp/mcp_message.h"

namespace caisson::mcp {

namespace asio = boost::asio;

// The requests that can be cancelled.
class RequestsUnderWay {
 public:
  struct Underway {
    Stop stop;
    bool unwanted = false;  // The client has cancelled it and does not wait for the answer.
    bool endless = false;   // It runs until it is stopped.
  };

  // Returns false if a request of that id is already running.
  [[nodiscard]] bool Begin(const Value& id, std::shared_ptr<Underway> request);
  void End(const Value& id);
  void Cancel(const Value& id);
  // The requests cannot continue, but the client has not cancelled them.
  void StopAll();
  void StopEndless();
  std::size_t size() const { return requests_.size(); }

 private:
  std::map<std::string, std::shared_ptr<Underway>> requests_;  // Keyed by the id's JSON.
};

class ClientConnection {
 public:
  ClientConnection(Principal principal, const asio::any_io_executor& executor)
      : principal(std::move(principal)), questions(executor) {}
  ClientConnection(const ClientConnection&) = delete;
  ClientConnection& operator=(const ClientConnection&) = delete;

  // Returns the caller of legacy requests on this connection.
  Caller LegacyCaller() const {
    return {.principal = principal,
            .era = Era::kLegacy,
            .version = version,
            .capabilities = capabilities,
            .log_level = log_level};
  }

  const Principal principal;
  // From the client's `initialize`; until then without any capabilities.
  std::string version{kOldestVersion};
  Dict capabilities{};
  bool initialized = false;  // The client is ready for notifications.
  LogLevel log_level = LogLevel::kInfo;
  std::set<std::string> subscriptions{};

  RequestsUnderWay requests{};
  jsonrpc::Questions questions;  // Open questions to the client, in the legacy era.
};

}  // namespace caisson::mcp
