// A RunStart is one POST /v1/runs: whole, or told as it goes on.
//
// As events (Accept: text/event-stream):
//   event: started      {"id":"run_…"}
//   event: output       {"stream":"stdout","text":"…"}
//   event: run          the run, as GET /v1/runs/{id} shows it: the last event
//   event: problem      in its place, if it could not be started
//
// With an Idempotency-Key the run is started once, however often the request comes: the same key and body later find the
// same run, as it is then. Another body under the same key is 422, one that comes while the first is being started 409.
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
#include "net/exchange.h"
#include "net/sse.h"
#include "protocol/rest/caller.h"
#include "protocol/rest/rest_api.h"
#include "protocol/rest/run_request.h"

namespace caisson::rest {

// kInvalidArgument unless the body says that it is JSON: a form of some web page never does.
Result<void> RequireJson(const net::Request& request);

class RunStart {
 public:
  RunStart(const RestServices& services, const Limits& usual, net::Exchange& exchange)
      : services_(services), usual_(usual), exchange_(exchange) {}

  asio::awaitable<void> Perform();

 private:
  // What the key says about this request.
  struct Claim {
    std::optional<IdempotencyKey> key{};
    std::optional<RunId> done{};  // Somebody has started it.
  };

  asio::awaitable<Result<RunView>> Start();
  net::Response Refusal(const Error& error) const;
  asio::awaitable<Result<Claim>> ClaimKey(const IsolationKey& owner);
  // Starts it and notes its id under the key, as soon as there is one.
  asio::awaitable<Result<RunView>> StartOnce(IsolationKey owner, IdempotencyKey key,
                                             RunRequest request);
  asio::awaitable<Result<RunView>> StartNow(IsolationKey owner, RunRequest request);
  asio::awaitable<Result<RunView>> Again(IsolationKey owner, RunId id, Wait wait);
  asio::awaitable<void> OpenEvents(StartRun& start);

  const RestServices& services_;
  const Limits& usual_;
  net::Exchange& exchange_;
  std::optional<net::EventStream> events_;
  bool key_was_used_ = false;  // For another request.
};

}  // namespace caisson::rest
