// HttpRules say where requests may go: nowhere, unless a rule allows scheme, host, port, method and the start of the
// path. A rule may add headers that the code never sees.
//
// Trust     Rules are the operator's; what is matched against them is an attacker's.
// Threads   Immutable values.
// Lifetime  Values. Secrets live here and leave only towards the rule's own host.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "tools/http/url.h"

namespace caisson {

enum class PrivateHosts { kRefuse, kAllow };

struct HttpRuleSpec {
  std::string url;                   // "https://api.example.com/v1": the path and all below it.
  std::vector<std::string> methods;  // In capitals; TRACE and CONNECT cannot be allowed.
  PrivateHosts private_hosts =
      PrivateHosts::kRefuse;  // Whether this host may have a private address.
  std::vector<std::pair<std::string, std::string>> secret_headers{};
};

class HttpRule {
 public:
  static Result<HttpRule> Make(HttpRuleSpec spec);

  bool Allows(std::string_view method, const HttpUrl& url) const;
  const HttpRuleSpec& spec() const { return spec_; }

 private:
  HttpRule(HttpRuleSpec spec, HttpUrl base) : spec_(std::move(spec)), base_(std::move(base)) {}

  HttpRuleSpec spec_;
  HttpUrl base_;
};

// Names of headers and their values, as HTTP allows them.
bool IsHeaderName(std::string_view name);
bool IsHeaderValue(std::string_view value);

// The name as servers compare it: in lower case, "_" as "-". CGI and WSGI make one variable of both.
std::string FoldedHeaderName(std::string_view name);

// Whether the code may not set this header. Reserved are
//   - what belongs to the message and the connection: where it goes, where it ends, how it is encoded;
//   - what makes proxies and frameworks take the request for one with another URL, host or method, which the rules
//     have not allowed;
//   - what says who sent the request: proxies set it, and servers decide by it what is permitted.
bool IsReservedHeader(std::string_view name);

}  // namespace caisson
