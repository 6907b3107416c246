// An OutputFeed tells a client what code prints while it runs: as progress, if that was asked for, and as log
// messages of level debug.
//
// Trust     Output is the guest's: bounded by the run's limits, made UTF-8 here.
// Threads   OnOutput from any thread; everything else on the exchange's serial executor.
// Lifetime  Shared with the callbacks under way. After Close() nothing is said any more: the exchange may go.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "engine/engine.h"
#include "protocol/mcp/exchange.h"

namespace caisson::mcp {

class OutputFeed : public std::enable_shared_from_this<OutputFeed> {
 public:
  OutputFeed(const asio::any_io_executor& executor, Exchange& exchange)
      : timer_(executor), exchange_(&exchange) {}

  // Whether there is anybody to tell.
  static bool IsWanted(const Exchange& exchange) {
    return exchange.wants_progress() || exchange.wants_log(LogLevel::kDebug);
  }

  void OnOutput(OutputStream stream, std::string_view bytes);
  void Close();

 private:
  void Take(OutputStream stream, const std::string& bytes);
  std::string& UntoldOf(OutputStream stream) {
    return stream == OutputStream::kStdout ? untold_stdout_ : untold_stderr_;
  }
  void Tell();
  void Pause();

  asio::steady_timer timer_;  // Runs for a moment after each telling.
  Exchange* exchange_;        // Null once closed.
  std::string untold_stdout_;
  std::string untold_stderr_;
  std::string tail_;
  std::int64_t told_bytes_ = 0;
  std::int64_t taken_bytes_ = 0;
  bool pausing_ = false;
};

}  // namespace caisson::mcp
