// Times as text: "2026-07-28T09:30:00.125Z", as RFC 3339 has it, to the millisecond and always in UTC.
//
// Trust     Ours.
// Threads   Pure functions.
// Lifetime  Nothing is kept.
#pragma once

#include <string>

#include "base/clock.h"

namespace caisson {

std::string ToRfc3339(SystemTime time);

}  // namespace caisson
