// A Target is what a request asks for: the path as decoded segments, the query as decoded pairs.
//
//   /v1/runs/run_7?limit=2      {"v1", "runs", "run_7"}, {{"limit", "2"}}
//
// Trust     Takes what a client sent. Refuses what two readers could take for two things: encodings that are
//           none, control characters, dot segments, empty segments, text that is no UTF-8.
// Threads   Pure functions.
// Lifetime  Nothing is kept.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace caisson::net {

using Query = std::vector<std::pair<std::string, std::string>>;

struct Target {
  std::vector<std::string> segments{};  // A slash in one was sent as %2F.
  Query query{};
};

// kInvalidArgument, with the reason. Only the form that begins with a slash: this is no proxy.
Result<Target> ParseTarget(std::string_view text);

}  // namespace caisson::net
