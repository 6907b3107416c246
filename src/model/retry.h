// Rules for the repetition of requests.
//
// Trust     The headers are a server's. They can shorten or extend the wait within bounds, and can
//           prevent a repetition.
// Threads   Pure functions.
// Lifetime  Keep nothing.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/clock.h"
#include "tools/http/client.h"

namespace caisson::model {

// A server may ask for this wait. If it asks for more, the request is not repeated.
inline constexpr std::chrono::seconds kLongestAskedWait{60};

// Returns whether an answer with this status may be followed by another attempt: 408, 409, 429 and
// 5xx, unless "x-should-retry" says otherwise.
bool IsWorthRepeating(const HttpResponse& head);

// Returns the wait that the server asks for by "retry-after-ms" or "retry-after" (seconds or a
// date); nullopt: by neither, or not in a valid way.
std::optional<std::chrono::milliseconds> AskedWait(const HttpResponse& head, SystemTime now);

// Returns the wait after the attempt with this number, from 1: 0.5 s, 1 s, 2 s... up to 8 s, less
// up to a quarter. `jitter` is a random number from 0 to 1.
std::chrono::milliseconds UsualWait(std::uint32_t attempt, double jitter);

}  // namespace caisson::model
