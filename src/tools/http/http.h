// Http makes the body of a tool that fetches over HTTP: the code's only way out.
//
//   Tool::Make({.name = "fetch", .description = HttpDescription(spec), .input_schema = HttpInputSchema()},
//              *Http(spec, io, SystemResolver(pool)));
//
//   fetch("https://api.example.com/v1/users", headers={"Accept": "application/json"})
//       -> {"status": 200, "url": "...", "headers": {...}, "body": "..."}      body is bytes if it is no UTF-8
//
// Trust     The code chooses URL, method, headers and body; rules decide whether that leaves the house, for the first
//           request and for every redirect. Secrets are added here, go to the rule's own host alone, and are struck
//           out of what comes back.
// Threads   Calls come from any executor and work on `io`, each on a strand of its own.
// Lifetime  `io` and the resolver's pool must run until the last call is over.
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
#include "tools/http/rules.h"

namespace caisson {

struct HttpToolSpec {
  std::vector<HttpRuleSpec> rules{};  // None: nothing is allowed.
  std::size_t max_request_bytes = 1u << 20;
  std::size_t max_response_bytes = 4u << 20;
  int max_redirects = 5;
  std::optional<std::uint64_t> calls_per_minute{};  // Of all runs together.
  std::string certificates{};                       // As HttpClientOptions.
};

Value HttpInputSchema();
// What a model needs to know: where it may go.
std::string HttpDescription(const HttpToolSpec& spec);

Result<ToolBody> Http(HttpToolSpec spec, asio::any_io_executor io, Resolver resolver);

}  // namespace caisson
