// The AguiApi serves agents to user interfaces, over AG-UI 1.0.
//
//   POST /agui/{name}                 RunAgentInput -> the events of a run, or of a stored thread
//   POST /agui/{name}/cancel          {"threadId"}   ends the run of a thread
//   GET  /agui/{name}/capabilities    what the agent offers
//
// Errors before the stream are problems (RFC 9457). Errors in it are RUN_STARTED and RUN_ERROR.
//
// Trust     Requests are hostile. The identity is resolved once per request (I2), as the scope of
//           its threads; data of another owner is not found (I3, I4).
// Threads   Handlers run on their connections' strands; runs go on without them.
// Lifetime  The services outlive it. It outlives the server it is mounted on. Close() must have
//           returned before it is destroyed.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <optional>
#include <string>

#include "agent/turn_service.h"
#include "base/clock.h"
#include "base/result.h"
#include "caller/caller_context.h"
#include "identity/resolver.h"
#include "net/router.h"
#include "protocol/agui/thread_runs.h"
#include "store/documents.h"

namespace caisson::agui {

struct AguiServices {
  TurnService& turns;
  CancelRun cancel_run;
  DocumentStore& threads;
  const IdentityResolver& identity;
  const Clock& clock;
  asio::any_io_executor executor;     // Runs live here.
  CallerHost* caller_host = nullptr;  // Null: runs have no session context.
  std::optional<asio::any_io_executor>
      cpu_pool{};  // Reads large bodies; without it they are read on their strands.
};

class AguiApi {
 public:
  explicit AguiApi(AguiServices services)
      : services_(services),
        runs_(services.turns, services.cancel_run, services.threads, services.clock,
              services.executor) {}

  void Mount(net::Router& router);
  // See ThreadRuns::Close. Close the TurnService first or meanwhile.
  asio::awaitable<void> Close() { return runs_.Close(); }

 private:
  asio::awaitable<void> Run(net::Exchange& exchange);
  asio::awaitable<Result<ThreadAnswer>> Answer(net::Request& request);
  asio::awaitable<net::Response> Cancel(net::Request request);
  asio::awaitable<net::Response> Capabilities(net::Request request) const;
  bool HasAgent(const std::string& name) const;

  const AguiServices services_;
  ThreadRuns runs_;
};

}  // namespace caisson::agui
