#include "net/message.h"

#include <algorithm>
#include <boost/beast/http/status.hpp>
#include <cstdlib>

#include "base/utf8.h"

namespace caisson::net {
namespace {

const std::string* Find(const Query& pairs, std::string_view name) {
  const auto found = std::ranges::find(pairs, name, &Query::value_type::first);
  return found == pairs.end() ? nullptr : &found->second;
}

void AppendQuoted(std::string& out, std::string_view text) {
  static constexpr char kDigits[] = "0123456789abcdef";
  out.push_back('"');
  for (const char c : ToUtf8(text)) {
    if (c == '"' || c == '\\') {
      out.append({'\\', c});
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out.append("\\u00").append({kDigits[c >> 4], kDigits[c & 15]});
    } else {
      out.push_back(c);
    }
  }
  out.push_back('"');
}

}  // namespace

const std::string& Request::Parameter(std::string_view name) const {
  const std::string* found = Find(parameters, name);
  if (found == nullptr) std::abort();  // The route does not have it: a bug of the handler.
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
  std::string body = "{\"type\":";
  AppendQuoted(body, problem.type);
  body.append(",\"title\":");
  AppendQuoted(body, ReasonPhrase(problem.status));
  body.append(",\"status\":").append(std::to_string(problem.status));
  const auto put = [&](std::string_view name, const std::string& value) {
    if (value.empty()) return;
    body.append(",\"").append(name).append("\":");
    AppendQuoted(body, value);
  };
  put("detail", problem.detail);
  put("instance", problem.instance);
  return {.status = problem.status,
          .headers = {{.name = "Content-Type", .value = "application/problem+json"}},
          .body = body + "}"};
}

}  // namespace caisson::net
