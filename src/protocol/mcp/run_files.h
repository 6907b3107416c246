// RunFiles shows the captured files of runs as resources to their owner, for as long as the runs
// are stored.
//
//   caisson://runs/run_01j.../files/0/report.csv
//
// Trust     URIs are the client's; files of other owners are not found (I4). Contents are the
//           guest's.
// Threads   Same as ResourceFeature.
// Lifetime  The service outlives it.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <optional>
#include <utility>

#include "protocol/mcp/features.h"
#include "runs/run_service.h"

namespace caisson::mcp {

class RunFiles final : public ResourceFeature {
 public:
  // Large files are encoded in `cpu_pool`; without it, on the executor of the exchange.
  explicit RunFiles(RunService& runs, std::optional<asio::any_io_executor> cpu_pool = {})
      : runs_(runs), cpu_pool_(std::move(cpu_pool)) {}

  asio::awaitable<Reply> List(std::optional<std::string> cursor, Exchange& exchange) override;
  caisson::List Templates() const override;
  asio::awaitable<std::optional<caisson::List>> Read(std::string uri, Exchange& exchange) override;

 private:
  RunService& runs_;
  const std::optional<asio::any_io_executor> cpu_pool_;
};

}  // namespace caisson::mcp
