// A Log writes lines for the operator: one JSON object each.
//
//   log.Write(Log::Level::kError, "http.failure", {{"instance", id}, {"message", what}});
//   {"time":"2026-07-28T09:30:00.125Z","level":"error","event":"http.failure","instance":"…", …}
//
// Trust     Values may be hostile. They are written as JSON strings, so none can start a new line.
// Threads   Any. The sink is called by one thread at a time.
// Lifetime  Outlives its writers.
#pragma once

#include <functional>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace caisson {

class Log {
 public:
  enum class Level { kInfo, kWarning, kError };
  using Fields = std::vector<std::pair<std::string_view, std::string_view>>;
  using Sink = std::function<void(std::string_view line)>;

  // Lines below `least` are not written.
  Log(const Clock& clock, Level least, Sink sink)
      : clock_(clock), least_(least), sink_(std::move(sink)) {}

  void Write(Level level, std::string_view event, const Fields& fields);

 private:
  const Clock& clock_;
  const Level least_;
  std::mutex mutex_;
  const Sink sink_;
};

}  // namespace caisson
