#include "tools/http/http.h"

#include <algorithm>
#include <boost/asio/strand.hpp>
#include <chrono>
#include <memory>
#include <string_view>
#include <utility>

#include "base/guarded.h"
#include "base/run_on.h"
#include "base/utf8.h"
#include "wire/json.h"

namespace caisson {
namespace {

constexpr std::size_t kMaxHeaders = 64;
// Removing a shorter secret would damage ordinary text.
constexpr std::size_t kShortestSecret = 8;
constexpr std::string_view kStruckOut = "[secret]";

std::string Lowered(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::string Uppered(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return out;
}

Error Bad(std::string message) {
  return Error(ErrorCode::kInvalidArgument, std::move(message));
}

bool HasHeader(const HttpHeaders& headers, std::string_view name) {
  const std::string folded = FoldedHeaderName(name);
  return std::ranges::any_of(
      headers, [&](const auto& header) { return FoldedHeaderName(header.first) == folded; });
}

const std::string* FindHeader(const HttpHeaders& headers, std::string_view name) {
  const auto found = std::ranges::find(headers, name, &HttpHeaders::value_type::first);
  return found == headers.end() ? nullptr : &found->second;
}

void StrikeOut(std::string& text, std::string_view secret) {
  if (secret.size() < kShortestSecret) return;
  for (std::size_t at = text.find(secret); at != text.npos; at = text.find(secret, at)) {
    text.replace(at, secret.size(), kStruckOut);
    at += kStruckOut.size();
  }
}

// Limits calls per minute; the calls of one minute may come at once.
class RateLimit {
 public:
  explicit RateLimit(std::optional<std::uint64_t> per_minute)
      : per_minute_(per_minute), state_(static_cast<double>(per_minute.value_or(0))) {}

  bool Take() {
    if (!per_minute_) return true;
    const auto most = static_cast<double>(*per_minute_);
    auto state = state_.Lock();
    const auto now = std::chrono::steady_clock::now();
    const std::chrono::duration<double, std::ratio<60>> passed = now - state->since;
    state->left = std::min(most, state->left + passed.count() * most);
    state->since = now;
    if (state->left < 1) return false;
    state->left -= 1;
    return true;
  }

 private:
  struct State {
    explicit State(double full) : left(full) {}
    double left;
    std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();
  };
  const std::optional<std::uint64_t> per_minute_;
  Guarded<State> state_;
};

struct Service {
  Service(HttpToolSpec tool, std::vector<HttpRule> all, std::unique_ptr<HttpClient> sender)
      : spec(std::move(tool)),
        rules(std::move(all)),
        client(std::move(sender)),
        rate(spec.calls_per_minute) {}

  const HttpToolSpec spec;
  const std::vector<HttpRule> rules;
  const std::unique_ptr<HttpClient> client;
  RateLimit rate;
};

// One call: a request, the redirects that follow it, and the answer.
class Fetch {
 public:
  explicit Fetch(std::shared_ptr<Service> service) : service_(std::move(service)) {}

  asio::awaitable<ToolAnswer> Run(Dict arguments) {
    if (!service_->rate.Take()) {
      co_return ToRaised(Error(ErrorCode::kResourceExhausted,
                               "too many requests; at most " +
                                   std::to_string(*service_->spec.calls_per_minute) + " a minute"));
    }
    if (auto prepared = Prepare(arguments); !prepared) co_return ToRaised(prepared.error());
    for (int redirects = 0;; ++redirects) {
      const HttpRule* rule = Allowing();
      if (rule == nullptr) co_return ToRaised(NotAllowed());
      auto response =
          co_await service_->client->Send(WithSecrets(*rule), rule->spec().private_hosts);
      if (!response) co_return ToRaised(response.error());
      const std::string* location = FindHeader(response->headers, "location");
      if (!IsRedirect(response->status) || location == nullptr)
        co_return Shown(*std::move(response));
      if (redirects == service_->spec.max_redirects) {
        co_return ToRaised(Error(ErrorCode::kUnavailable, "too many redirects"));
      }
      if (auto followed = Follow(response->status, *location); !followed) {
        co_return ToRaised(std::move(followed).error().Context("the server redirects"));
      }
    }
  }

  // Checks that the arguments make a valid request that a rule allows, before an approval is
  // requested.
  Result<void> Check(const Dict& arguments) {
    TRY(Prepare(arguments));
    if (Allowing() == nullptr) return NotAllowed();
    return {};
  }

 private:
  // The schema has checked the types.
  Result<void> Prepare(const Dict& arguments) {
    const auto text = [&](std::string_view name) {
      const Value* value = arguments.Find(name);
      return value == nullptr ? nullptr : value->If<std::string>();
    };
    TRY_ASSIGN(request_.url, ParseHttpUrl(*text("url")));
    const std::string* method = text("method");
    request_.method = method == nullptr ? "GET" : Uppered(*method);
    if (const Value* headers = arguments.Find("headers")) TRY(TakeHeaders(*headers->If<Dict>()));
    return TakeBody(arguments);
  }

  Result<void> TakeHeaders(const Dict& headers) {
    if (headers.items.size() > kMaxHeaders) return Bad("too many headers");
    for (const auto& [key, value] : headers.items) {
      const std::string& name = *key.If<std::string>();
      const std::string& content = *value.If<std::string>();
      if (!IsHeaderName(name) || !IsHeaderValue(content)) {
        return Bad("a header has an invalid name or value");
      }
      if (IsReservedHeader(name)) {
        return Bad(
            "the header \"" + name +
            "\" cannot be set: it belongs to the connection, or could lead the request past the "
            "rule for its URL and method. Leave it out");
      }
      if (HasHeader(request_.headers, name)) return Bad("the header \"" + name + "\" occurs twice");
      request_.headers.emplace_back(name, content);
    }
    return {};
  }

  Result<void> TakeBody(const Dict& arguments) {
    const Value* body = arguments.Find("body");
    const Value* json = arguments.Find("json");
    if (body != nullptr && json != nullptr) return Bad("give \"body\" or \"json\", not both");
    if (json != nullptr) {
      TRY_ASSIGN(request_.body, ToJson(*json));
      if (!HasHeader(request_.headers, "content-type")) {
        request_.headers.emplace_back("Content-Type", "application/json");
      }
    }
    if (body != nullptr) {
      if (const auto* text = body->If<std::string>()) request_.body = *text;
      if (const auto* bytes = body->If<Bytes>()) request_.body = bytes->data;
      if (body->If<std::string>() == nullptr && body->If<Bytes>() == nullptr) {
        return Bad("\"body\" must be a str or bytes; use \"json\" for other values");
      }
    }
    if (request_.body.size() <= service_->spec.max_request_bytes) return {};
    return Error(
        ErrorCode::kResourceExhausted,
        "the body is longer than " + std::to_string(service_->spec.max_request_bytes) + " bytes");
  }

  const HttpRule* Allowing() const {
    const auto found = std::ranges::find_if(service_->rules, [&](const HttpRule& rule) {
      return rule.Allows(request_.method, request_.url);
    });
    return found == service_->rules.end() ? nullptr : &*found;
  }

  Error NotAllowed() const {
    return Error(ErrorCode::kPermissionDenied, request_.method + " " + request_.url.Origin() +
                                                   request_.url.path + " is not allowed. " +
                                                   HttpDescription(service_->spec));
  }

  HttpRequest WithSecrets(const HttpRule& rule) {
    HttpRequest request = request_;
    for (const auto& [name, value] : rule.spec().secret_headers) {
      std::erase_if(request.headers, [&](const auto& header) {
        return FoldedHeaderName(header.first) == FoldedHeaderName(name);
      });
      request.headers.emplace_back(name, value);
      secrets_.push_back(value);
      // Servers often repeat a token without the word before it.
      secrets_.push_back(value.substr(value.rfind(' ') + 1));
    }
    return request;
  }

  static bool IsRedirect(int status) {
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
  }

  Result<void> Follow(int status, const std::string& location) {
    TRY_ASSIGN(HttpUrl next, ResolveLocation(request_.url, location));
    // Headers for one server must not reach another one.
    if (next.Origin() != request_.url.Origin()) {
      std::erase_if(request_.headers, [](const auto& header) {
        const std::string name = Lowered(header.first);
        return name == "authorization" || name == "cookie";
      });
    }
    const bool becomes_get =
        status == 303 || ((status == 301 || status == 302) && request_.method == "POST");
    if (becomes_get && request_.method != "HEAD") {
      request_.method = "GET";
      request_.body.clear();
      std::erase_if(request_.headers, [](const auto& header) {
        return Lowered(header.first).starts_with("content-");
      });
    }
    request_.url = std::move(next);
    return {};
  }

  ToolAnswer Shown(HttpResponse response) const {
    for (const std::string& secret : secrets_) {
      StrikeOut(response.body, secret);
      for (auto& [name, value] : response.headers) StrikeOut(value, secret);
    }
    Dict headers;
    for (auto& [name, value] : response.headers) {
      if (!IsUtf8(value) || !IsUtf8(name)) continue;
      const auto same =
          std::ranges::find(headers.items, Value(name), &std::pair<Value, Value>::first);
      if (same == headers.items.end()) {
        headers.items.emplace_back(name, std::move(value));
      } else {
        std::get<std::string>(same->second.variant()).append(", ").append(value);
      }
    }
    Dict shown;
    shown.items.emplace_back(std::string("status"), std::int64_t{response.status});
    shown.items.emplace_back(std::string("url"), request_.url.Text());
    shown.items.emplace_back(std::string("headers"), std::move(headers));
    const bool is_text = IsUtf8(response.body);
    shown.items.emplace_back(std::string("body"), is_text ? Value(std::move(response.body))
                                                          : Value(Bytes{std::move(response.body)}));
    return Value(std::move(shown));
  }

  const std::shared_ptr<Service> service_;
  HttpRequest request_;
  std::vector<std::string> secrets_;  // The secrets that were sent.
};

asio::awaitable<ToolAnswer> RunFetch(std::shared_ptr<Service> service, Dict arguments) {
  Fetch fetch(std::move(service));
  co_return co_await fetch.Run(std::move(arguments));
}

}  // namespace

Value HttpInputSchema() {
  auto schema = ParseJson(R"({
    "type": "object",
    "required": ["url"],
    "properties": {
      "url": {"type": "string", "description": "http or https"},
      "method": {"type": "string", "default": "GET"},
      "headers": {"type": "object", "additionalProperties": {"type": "string"}},
      "body": {"description": "str or bytes"},
      "json": {"description": "sent as JSON, in place of body"}
    },
    "additionalProperties": false
  })");
  return *std::move(schema);
}

std::string HttpDescription(const HttpToolSpec& spec) {
  if (spec.rules.empty()) return "No requests are allowed here.";
  std::string text = "Allowed are:";
  for (const HttpRuleSpec& rule : spec.rules) {
    text.append(&rule == spec.rules.data() ? " " : "; ");
    for (const std::string& method : rule.methods) text.append(method).append(" ");
    text.append(rule.url);
  }
  return text;
}

Result<ToolBody> Http(HttpToolSpec spec, asio::any_io_executor io, Resolver resolver) {
  std::vector<HttpRule> rules;
  for (const HttpRuleSpec& rule : spec.rules) {
    TRY_ASSIGN(HttpRule made, HttpRule::Make(rule));
    rules.push_back(std::move(made));
  }
  TRY_ASSIGN(auto client, HttpClient::Make({.resolver = std::move(resolver),
                                            .max_response_bytes = spec.max_response_bytes,
                                            .certificates = spec.certificates}));
  auto service = std::make_shared<Service>(std::move(spec), std::move(rules), std::move(client));
  return Awaitable([service, io](Dict arguments) -> asio::awaitable<ToolAnswer> {
           co_return co_await RunOn(asio::make_strand(io), RunFetch(service, std::move(arguments)));
         })
      .Checking([service](const Dict& arguments) { return Fetch(service).Check(arguments); });
}

}  // namespace caisson
