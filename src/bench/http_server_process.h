// An HttpServerProcess is `caisson serve` on a free port, with its store in SQLite in a directory
// of its own.
//
// Trust     Our own program. The benchmarks check its answers.
// Threads   Blocks. Used by one thread.
// Lifetime  The destructor ends the server and removes the directory.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "bench/server_process.h"

namespace caisson::bench {

class HttpServerProcess {
 public:
  // `more`: further tables of the configuration.
  static Result<HttpServerProcess> Start(const ServerPlan& plan, std::string_view more = {});

  std::uint16_t port() const { return port_; }

 private:
  HttpServerProcess(ScratchDirectory home, ServerProcess server, std::uint16_t port)
      : home_(std::move(home)), server_(std::move(server)), port_(port) {}

  ScratchDirectory home_;  // Removed after the server has ended.
  ServerProcess server_;
  std::uint16_t port_;
};

}  // namespace caisson::bench
