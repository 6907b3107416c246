// A RunStart is one POST /v1/runs, answered as a whole or as a stream.
//
// As events (Accept: text/event-stream):
//   event: started      {"id":"run_…"}
//   event: output       {"stream":"stdout","text":"…"}
//   event: run          the run, as GET /v1/runs/{id} shows it: the last event
//   event: problem      instead of it, if the run could not be started
//
// With an Idempotency-Key the run is started once, however often and to however many replicas the
// request is sent. The key is stored with the run; the same key and body return that run in its
// current state. Another body under the same key gets 422.
//
// Trust     The request is hostile. Output is the code's; it becomes JSON strings.
// Threads   The connection's strand; output comes from the run's own executor.
// Lifetime  That of one request; refers to the exchange and the services.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/http_exchange.h"
#include "net/sse.h"
#include "protocol/rest/rest_api.h"
#include "protocol/rest/run_request.h"

namespace caisson::rest {

class RunStart {
 public:
  RunStart(const RestServices& services, const Limits& usual, net::Exchange& exchange)
      : services_(services), usual_(usual), exchange_(exchange) {}

  asio::awaitable<void> Perform();

 private:
  asio::awaitable<Result<RunView>> Start();
  net::Response Refusal(const Error& error) const;
  Result<std::optional<RunKey>> ReadKey() const;
  // Returns the run that was started with this key; nullopt: none.
  asio::awaitable<Result<std::optional<RunId>>> FindStarted(IsolationKey owner, RunKey key);
  // Starts the run, or returns the one that another request with the same key has started
  // meanwhile.
  asio::awaitable<Result<RunView>> StartOnce(IsolationKey owner, RunBody request);
  asio::awaitable<Result<RunView>> StartNow(IsolationKey owner, RunBody request);
  asio::awaitable<Result<RunView>> Again(IsolationKey owner, RunId id, Wait wait);
  asio::awaitable<void> OpenEvents(RunSpec& start);

  const RestServices& services_;
  const Limits& usual_;
  net::Exchange& exchange_;
  std::optional<net::EventStream> events_;
  bool key_was_used_ = false;  // By another request.
};

}  // namespace caisson::rest
