// A Target is the parsed target of a request: the path as decoded segments, the query as decoded
// pairs.
//
//   /v1/runs/run_7?limit=2      {"v1", "runs", "run_7"}, {{"limit", "2"}}
//
// Trust     The text is hostile. Refuses ambiguous input: invalid percent-encodings, control
//           characters, dot segments, empty segments, text that is not UTF-8.
// Threads   Pure functions.
// Lifetime  Keeps nothing.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace caisson::net {

using Query = std::vector<std::pair<std::string, std::string>>;

struct Target {
  std::vector<std::string> segments{};  // A slash in a segment was sent as %2F.
  Query query{};
};

// Fails with kInvalidArgument and the reason. Accepts only the form that starts with a slash,
// because this server is not a proxy.
Result<Target> ParseTarget(std::string_view text);

}  // namespace caisson::net
