// An HttpServer is all of Caisson behind one address: a configuration opened, its doors mounted, until it is stopped.
//
//   /v1/runs /v1/approvals (protocol/rest)      /mcp (protocol/mcp)      /healthz      /readyz /readiness      /metrics
//
// Trust     Requests are hostile; who they are for is resolved by the configured mode. In mode local nobody proves
//           anything, so it serves loopback addresses only, under their own names.
// Threads   Open, Serve and the destructor block. Stop from anywhere.
// Lifetime  Owns everything. What was opened is closed in Serve(), or by the destructor if that never ran.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "caller/caller_context.h"
#include "config/config.h"
#include "server/backends.h"
#include "server/mcp_server.h"

namespace caisson {

struct HttpServerOptions {
  Config config{};
  std::string installation{};                        // As BackendOptions.
  EnvironmentMap environment{};                      // Where the configuration's secrets are.
  std::function<void(std::string_view line)> log{};  // Lines for the operator (telemetry/log.h).
  AddMcpFeatures add_mcp_features{};
};

class HttpServer {
 public:
  // It listens, and answers once Serve() is called. kInvalidArgument: the configuration; kFailedPrecondition: the
  // address is taken; else as CodeService::Open and OpenStore.
  static Result<std::unique_ptr<HttpServer>> Open(HttpServerOptions options);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer();

  std::string url() const;

  // Returns after Stop(), when requests under way have finished, or were given up after the configured time, and
  // runs are parked or ended. Once.
  void Serve();
  // Any number of times.
  void Stop();

 private:
  class Parts;
  explicit HttpServer(std::unique_ptr<Parts> parts);
  const std::unique_ptr<Parts> parts_;
};

}  // namespace caisson
