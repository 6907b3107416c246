// HttpRules say where requests may go. Nothing is allowed unless a rule allows scheme, host, port,
// method and the start of the path. A rule may add headers that the code never sees.
//
// Trust     Rules are the operator's; the requests to match are an attacker's.
// Threads   Immutable values.
// Lifetime  Values. Secrets are kept here and are sent only to the rule's own host.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "tools/http/url.h"

namespace caisson {

// kOnly: only private addresses, for requests without TLS that must not leave the network.
enum class PrivateHosts { kRefuse, kAllow, kOnly };

struct HttpRuleSpec {
  std::string url;                   // "https://api.example.com/v1": this path and all below it.
  std::vector<std::string> methods;  // In capitals; TRACE and CONNECT cannot be allowed.
  PrivateHosts private_hosts =
      PrivateHosts::kRefuse;  // kAllow: this host may have a private address.
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

// Check names and values of headers as HTTP allows them.
bool IsHeaderName(std::string_view name);
bool IsHeaderValue(std::string_view value);

// Returns the name as servers compare it: in lower case, "_" as "-". CGI and WSGI map both to one
// variable.
std::string FoldedHeaderName(std::string_view name);

// Returns true if the code may not set this header. Reserved are headers that
// - belong to the message and the connection: destination, length, encoding;
// - make proxies and frameworks use another URL, host or method, which the rules have not allowed;
// - name the sender: proxies set them, and servers use them to decide on permissions.
bool IsReservedHeader(std::string_view name);

}  // namespace caisson
