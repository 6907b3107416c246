// An Exchange is one current request, as seen by its handler: its caller, and messages to the
// caller before the answer.
//
// Trust     Same as Caller.
// Threads   The serial executor that the handler runs on.
// Lifetime  Exists until the handler has returned. Code that reports later must know that it is
//           gone.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "protocol/mcp/client_connection.h"
#include "protocol/mcp/mcp_caller.h"
#include "protocol/mcp/mcp_message.h"

namespace caisson::mcp {

class Exchange {
 public:
  // `connection` null: modern requests over HTTP, which leave no state behind.
  Exchange(Caller caller, const Request& request, std::shared_ptr<ClientConnection> connection)
      : caller_(std::move(caller)),
        id_(request.id),
        progress_token_(ProgressToken(request.params)),
        connection_(std::move(connection)) {}
  virtual ~Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  const Caller& caller() const { return caller_; }
  const Value& request_id() const { return id_; }
  ClientConnection* connection() const { return connection_.get(); }
  // Returns true if the client has cancelled the request, not merely disconnected.
  virtual bool is_unwanted() const = 0;

  void Notify(std::string_view method, Dict params);
  // Neither waits, and both may be lost if the client does not read. Progress is sent if the client
  // asked for it; `done` must grow with each report. A message is sent if its level is high enough
  // for the client.
  bool wants_progress() const { return progress_token_.has_value(); }
  void Progress(Value done, std::optional<Value> total, std::string message);
  void Log(LogLevel level, std::string_view logger, Value data);
  bool wants_log(LogLevel level) const { return caller_.log_level && level >= *caller_.log_level; }

  // Asks the client a question, in the legacy era. Fails with kFailedPrecondition in the modern
  // era, where the answer to the request itself is the question, and with kUnavailable if the
  // client disconnected.
  asio::awaitable<Result<Value>> Ask(std::string method, Dict params);
  bool is_asking() const { return asking_; }

 protected:
  virtual bool is_reachable() const { return true; }
  enum class Delivery { kMayBeLost, kNeeded };
  virtual void Send(std::string text, Delivery delivery) = 0;

 private:
  const Caller caller_;
  const Value id_;
  const std::optional<Value> progress_token_;
  const std::shared_ptr<ClientConnection> connection_;
  bool asking_ = false;
};

}  // namespace caisson::mcp
