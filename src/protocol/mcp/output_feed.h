// An OutputFeed reports to a client while code runs. It sends output and the progress of tool calls
// as progress, if the client asked for it. It also sends output as log messages of level debug.
//
// Trust     Output is the guest's: bounded by the run's limits, converted to UTF-8 here. Progress
//           of tools may be an upstream's: only the latest report is kept.
// Threads   OnOutput and OnProgress from any thread; everything else on the exchange's serial
//           executor.
// Lifetime  Shared with pending callbacks. After Close() nothing is sent, and the exchange may be
//           destroyed.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/guarded.h"
#include "engine/engine.h"
#include "protocol/mcp/mcp_exchange.h"
#include "tools/progress.h"

namespace caisson::mcp {

class OutputFeed : public std::enable_shared_from_this<OutputFeed> {
 public:
  OutputFeed(const asio::any_io_executor& executor, Exchange& exchange)
      : timer_(executor), exchange_(&exchange) {}

  // Returns true if the client wants any reports.
  static bool IsWanted(const Exchange& exchange) {
    return exchange.wants_progress() || exchange.wants_log(LogLevel::kDebug);
  }

  void OnOutput(OutputStream stream, std::string_view bytes);
  void OnProgress(const std::string& tool, const ToolProgress& progress);
  void Close();

 private:
  void Take(OutputStream stream, const std::string& bytes);
  void TakeProgress();
  void Took(std::int64_t news);
  std::string& UntoldOf(OutputStream stream) {
    return stream == OutputStream::kStdout ? untold_stdout_ : untold_stderr_;
  }
  void Tell();
  void Pause();

  asio::steady_timer timer_;  // Runs for a moment after each report.
  Exchange* exchange_;        // Null after Close().
  std::string untold_stdout_;
  std::string untold_stderr_;
  std::string tail_;
  Guarded<std::string> latest_progress_;  // Not empty: it will be sent.
  std::string progress_;
  // The progress value for the client: bytes printed, plus one for each report of a tool.
  std::int64_t told_ = 0;
  std::int64_t taken_ = 0;
  bool pausing_ = false;
};

}  // namespace caisson::mcp
