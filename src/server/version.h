// The version of this Caisson.
//
// Trust     A constant of the build.
// Threads   Any.
// Lifetime  Static.
#pragma once

#include <string_view>

namespace caisson {

std::string_view Version();

}  // namespace caisson
