// A PipeServer serves the one MCP client that started it over two pipes: code, runs and approvals.
//
// Trust     The client is the local user. Its messages are checked like those of any client.
// Threads   Open, Serve and the destructor block. Stop from any thread.
// Lifetime  Owns all its parts. When Serve() has returned, no code runs any more, and waiting runs
//           sleep in the store.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "caller/caller_context.h"
#include "config/config.h"
#include "server/code_service.h"

namespace caisson {

struct PipeServerOptions {
  Config config{};  // For the store and its keys.
  CodeServiceOptions code{};
  EnvironmentMap environment{};  // Has the secrets of the configuration.
  // Keeps the packages of the latest runs; empty: none. See WarmPackages.
  std::string warm_file{};
  UniqueFd input{};
  UniqueFd output{};
};

class PipeServer {
 public:
  static Result<std::unique_ptr<PipeServer>> Open(PipeServerOptions options);
  PipeServer(const PipeServer&) = delete;
  PipeServer& operator=(const PipeServer&) = delete;
  ~PipeServer();

  // Returns when the client has closed its end, or after Stop(). Call it once.
  void Serve();
  // Can be called several times.
  void Stop();

 private:
  class Parts;
  explicit PipeServer(std::unique_ptr<Parts> parts);
  const std::unique_ptr<Parts> parts_;
};

}  // namespace caisson
