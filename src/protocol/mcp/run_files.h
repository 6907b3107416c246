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

#include "protocol/mcp/features.h"
#include "runs/run_service.h"

namespace caisson::mcp {

class RunFiles final : public ResourceFeature {
 public:
  explicit RunFiles(RunService& runs) : runs_(runs) {}

  asio::awaitable<Reply> List(std::optional<std::string> cursor, Exchange& exchange) override;
  caisson::List Templates() const override;
  asio::awaitable<std::optional<caisson::List>> Read(std::string uri, Exchange& exchange) override;

 private:
  RunService& runs_;
};

}  // namespace caisson::mcp
