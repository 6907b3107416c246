// An HttpServer serves one configuration at one address until it is stopped.
//
//   /v1/runs  /v1/approvals  (protocol/rest)      /mcp  (protocol/mcp)
//   /v1/responses  /v1/conversations  /v1/models  (protocol/responses)
//   /healthz  /readyz  /readiness  /metrics
//
// Trust     Requests are hostile. The configured mode resolves their identity. Mode local needs no
//           proof of identity, so it accepts only loopback addresses, under their own host names.
// Threads   Open, Serve and the destructor block. Stop from any thread.
// Lifetime  Owns all its parts. Serve() closes them, or the destructor if Serve() was never called.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "caller/caller_context.h"
#include "config/config.h"
#include "server/backends.h"
#include "server/mcp_server.h"
#include "tools/tool.h"

namespace caisson {

struct HttpServerOptions {
  Config config{};
  std::string installation{};                        // See BackendOptions.
  EnvironmentMap environment{};                      // Has the secrets of the configuration.
  std::function<void(std::string_view line)> log{};  // For the operator (telemetry/log.h).
  AddMcpFeatures add_mcp_features{};
  std::vector<std::shared_ptr<const Tool>> tools{};  // Offered before the configured ones.
};

class HttpServer {
 public:
  // Listens; Serve() answers requests. Fails with kInvalidArgument if the configuration is wrong,
  // kFailedPrecondition if the address is in use, and otherwise like CodeService::Open and
  // OpenStore.
  static Result<std::unique_ptr<HttpServer>> Open(HttpServerOptions options);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer();

  std::string url() const;

  // Returns after Stop(), when all requests have finished or were cancelled after the configured
  // time, and all runs are parked or ended. Call it once.
  void Serve();
  // Can be called several times.
  void Stop();

 private:
  class Parts;
  explicit HttpServer(std::unique_ptr<Parts> parts);
  const std::unique_ptr<Parts> parts_;
};

}  // namespace caisson
