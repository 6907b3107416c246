// RunFiles shows the files that runs left as resources: to their owner, for as long as the runs are remembered.
//
//   caisson://runs/run_01j.../files/0/report.csv
//
// Trust     URIs are the client's; files of others are not there (I4). Contents are the guest's.
// Threads   As ResourceFeature.
// Lifetime  The service outlives it.
#pragma once

#include "runs/run_service.h"
#include "protocol/mcp/features.h"

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
