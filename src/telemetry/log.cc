#include "telemetry/log.h"

#include <string>

#include "base/json_quote.h"
#include "base/rfc3339.h"

namespace caisson {
namespace {

std::string_view NameOf(Log::Level level) {
  switch (level) {
    case Log::Level::kInfo:
      return "info";
    case Log::Level::kWarning:
      return "warning";
    case Log::Level::kError:
      break;
  }
  return "error";
}

}  // namespace

void Log::Write(Level level, std::string_view event, const Fields& fields) {
  if (level < least_) return;
  std::string line = "{\"time\":" + JsonQuoted(ToRfc3339(clock_.Now())) +
                     ",\"level\":" + JsonQuoted(NameOf(level)) + ",\"event\":" + JsonQuoted(event);
  for (const auto& [name, value] : fields) {
    line.append(",").append(JsonQuoted(name)).append(":").append(JsonQuoted(value));
  }
  line.append("}\n");
  const std::scoped_lock lock(mutex_);
  sink_(line);
}

}  // namespace caisson
