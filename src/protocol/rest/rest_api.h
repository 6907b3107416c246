// The RestApi serves runs and approvals over HTTP.
//
//   POST /v1/runs     {"code", "session"?, "limits"?, "wait"?}     200 stopped, 202 runs or waits
//   GET  /v1/runs[?state=&limit=&after=]        GET /v1/runs/{id}        POST /v1/runs/{id}/cancel
//   GET  /v1/runs/{id}/files/{n}                GET /v1/approvals[?state=&limit=&after=]
//   GET  /v1/approvals/{id}
//   POST /v1/approvals/{id}  {"decision": "approve"|"deny", "reason"?, "arguments"?,
//                             "standing"?}
//   GET  /v1/grants                             DELETE /v1/grants/{id}
//
// With `Accept: text/event-stream`, POST /v1/runs streams the output (start_run.h). If a client
// disconnects, the run it waits for is cancelled, unless it gave an Idempotency-Key: then it is
// expected to return.
//
// Trust     Requests are hostile. The identity is resolved once per request (I2). Data of another
//           owner is not found, and the answer has the same bytes as for data that never existed
//           (I4).
// Threads   Handlers run on their connections' strands, any number side by side.
// Lifetime  Its services outlive it; it outlives the server it is mounted on.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "caller/caller_context.h"
#include "identity/resolver.h"
#include "net/router.h"
#include "protocol/door/caller.h"
#include "runs/run_service.h"

namespace caisson::rest {

using door::Caller;
using door::CallerOf;
using door::RequireJson;
using door::ToResponse;

struct RestServices {
  RunService& runs;
  const IdentityResolver& identity;
  const Clock& clock;
  CallerHost* caller_host = nullptr;  // Null: runs have no session context.
  std::optional<asio::any_io_executor>
      cpu_pool{};  // Reads large bodies; without it they are read on their strands.
};

class RestApi {
 public:
  // `usual`: the default limits of a run. `ceiling` limits the length of code.
  RestApi(RestServices services, Limits usual, const Limits& ceiling)
      : services_(services), usual_(usual), max_code_bytes_(ceiling.code_bytes) {}

  void Mount(net::Router& router) const;

 private:
  using Reply = asio::awaitable<Result<net::Response>>;
  using Operation = Reply (RestApi::*)(Caller, net::Request) const;

  // Performs the operation and maps its error.
  net::Handler Handle(Operation operation) const;
  asio::awaitable<void> StartRun(net::Exchange& exchange) const;

  Reply ListRuns(Caller caller, net::Request request) const;
  Reply ShowRun(Caller caller, net::Request request) const;
  Reply CancelRun(Caller caller, net::Request request) const;
  Reply ShowFile(Caller caller, net::Request request) const;
  Reply ListApprovals(Caller caller, net::Request request) const;
  Reply ShowApproval(Caller caller, net::Request request) const;
  Reply Decide(Caller caller, net::Request request) const;
  Reply Show(const StoredApproval& approval) const;
  Reply ListGrants(Caller caller, net::Request request) const;
  Reply RevokeGrant(Caller caller, net::Request request) const;

  const RestServices services_;
  const Limits usual_;
  const std::uint64_t max_code_bytes_;
};

}  // namespace caisson::rest
