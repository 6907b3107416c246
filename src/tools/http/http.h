// Http makes the body of a tool that sends HTTP requests: the only way for code to reach the
// network.
//
//   Tool::Make({.name = "fetch", .description = HttpDescription(spec),
//               .input_schema = HttpInputSchema()},
//              *Http(spec, io, SystemResolver(pool)));
//
//   fetch("https://api.example.com/v1/users", headers={"Accept": "application/json"})
//       -> {"status": 200, "url": "...", "headers": {...}, "body": "..."}
//       The body is bytes if it is not UTF-8.
//
// Trust     The code chooses URL, method, headers and body. Rules decide if the request may be
//           sent, for the first request and for every redirect. Secrets are added here, go only to
//           the rule's own host, and are removed from the answer.
// Threads   Calls come from any executor and work on `io`, each on its own strand.
// Lifetime  `io` and the resolver's pool must run until the last call has ended.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "tools/body.h"
#include "tools/http/client.h"
#include "tools/http/http_rules.h"

namespace caisson {

struct HttpToolSpec {
  std::vector<HttpRuleSpec> rules{};  // Empty: nothing is allowed.
  std::size_t max_request_bytes = 1u << 20;
  std::size_t max_response_bytes = 4u << 20;
  int max_redirects = 5;
  std::optional<std::uint64_t> calls_per_minute{};  // All runs together.
  std::string certificates{};                       // Same as HttpClientOptions.
};

Value HttpInputSchema();
// The description for a model: where requests may go.
std::string HttpDescription(const HttpToolSpec& spec);

Result<ToolBody> Http(HttpToolSpec spec, asio::any_io_executor io, Resolver resolver);

}  // namespace caisson
