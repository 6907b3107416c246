// A PipeServer is all of Caisson for the one MCP client that started it: code, runs and approvals behind two pipes.
//
// Trust     The client is the local user. Its messages are checked all the same.
// Threads   Open, Serve and the destructor block. Stop from anywhere.
// Lifetime  Owns everything. When Serve() has returned nothing runs any more: waiting runs sleep in the store.
#pragma once

#include <memory>

#include "base/result.h"
#include "base/unique_fd.h"
#include "caller/caller_context.h"
#include "config/config.h"
#include "server/code_service.h"

namespace caisson {

struct PipeServerOptions {
  Config config{};  // For the store and its keys.
  CodeServiceOptions code{};
  EnvironmentMap environment{};  // Where the configuration's secrets are.
  UniqueFd input{};
  UniqueFd output{};
};

class PipeServer {
 public:
  static Result<std::unique_ptr<PipeServer>> Open(PipeServerOptions options);
  PipeServer(const PipeServer&) = delete;
  PipeServer& operator=(const PipeServer&) = delete;
  ~PipeServer();

  // Returns when the client has closed its end, or after Stop(). Once.
  void Serve();
  // Any number of times.
  void Stop();

 private:
  class Parts;
  explicit PipeServer(std::unique_ptr<Parts> parts);
  const std::unique_ptr<Parts> parts_;
};

}  // namespace caisson
