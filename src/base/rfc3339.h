// Times as RFC 3339 text, in milliseconds and always in UTC: "2026-07-28T09:30:00.125Z".
//
// Trust     Trusted input only.
// Threads   Pure functions.
// Lifetime  Keeps nothing.
#pragma once

#include <string>

#include "base/clock.h"

namespace caisson {

std::string ToRfc3339(SystemTime time);

}  // namespace caisson
