// Measures `caisson serve` as clients of its REST door see it: POST /v1/runs over persistent
// connections. Outcomes are stored in SQLite.
//
// Trust     Every answer is checked.
// Threads   Blocks. The client is one thread, so that it takes little from the server's cores.
// Lifetime  The server ends with the RestDoor.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/result.h"
#include "bench/http_server_process.h"
#include "bench/samples.h"

namespace caisson::bench {

class RestDoor {
 public:
  static Result<RestDoor> Open(const ServerPlan& plan);

  // Microseconds from a request's first byte to its answer's last, on one connection.
  Result<Samples> Runs(int runs) const;
  // The same for a request that runs nothing: GET /healthz.
  Result<Samples> Healthz(int requests) const;

  struct Load {
    Samples per_second{};  // One sample for each period.
    Samples p99_us{};      // The 99th percentile of each period.
  };
  Result<Load> ManyRuns(std::size_t connections, int periods,
                        std::chrono::nanoseconds period) const;

 private:
  explicit RestDoor(HttpServerProcess server) : server_(std::move(server)) {}
  std::uint16_t port() const { return server_.port(); }

  HttpServerProcess server_;
};

}  // namespace caisson::bench
