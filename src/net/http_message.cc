#include "net/http_message.h"

#include <algorithm>
#include <boost/beast/http/status.hpp>
#include <cstdlib>

#include "base/json_quote.h"

namespace caisson::net {
namespace {

const std::string* Find(const Query& pairs, std::string_view name) {
  const auto found = std::ranges::find(pairs, name, &Query::value_type::first);
  return found == pairs.end() ? nullptr : &found->second;
}

}  // namespace

const std::string& Request::Parameter(std::string_view name) const {
  const std::string* found = Find(parameters, name);
  if (found == nullptr) std::abort();  // The route does not have it: a bug in the handler.
  return *found;
}

const std::string* Request::FindQuery(std::string_view name) const {
  return Find(query, name);
}

bool Request::Accepts(std::string_view media_type) const {
  return std::ranges::any_of(headers, [&](const Headers::Field& field) {
    return EqualsIgnoringCase(field.name, "Accept") && HasToken(field.value, media_type);
  });
}

std::string_view ReasonPhrase(int status) {
  const auto text = boost::beast::http::obsolete_reason(
      boost::beast::http::int_to_status(static_cast<unsigned>(status)));
  return {text.data(), text.size()};
}

Response JsonResponse(int status, std::string body) {
  return {.status = status,
          .headers = {{.name = "Content-Type", .value = "application/json"}},
          .body = std::move(body)};
}

Response ToResponse(const Problem& problem) {
  std::string body = "{\"type\":" + JsonQuoted(problem.type) +
                     ",\"title\":" + JsonQuoted(ReasonPhrase(problem.status)) +
                     ",\"status\":" + std::to_string(problem.status);
  const auto put = [&](std::string_view name, const std::string& value) {
    if (value.empty()) return;
    body.append(",\"").append(name).append("\":").append(JsonQuoted(value));
  };
  put("detail", problem.detail);
  put("instance", problem.instance);
  return {.status = problem.status,
          .headers = {{.name = "Content-Type", .value = "application/problem+json"}},
          .body = body + "}"};
}

}  // namespace caisson::net
