#include "net/router.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

namespace caisson::net {
namespace {

bool IsParameter(std::string_view segment) {
  return segment.starts_with('{');
}

std::vector<std::string> PatternSegments(std::string_view pattern) {
  std::vector<std::string> segments;
  while (pattern.size() > 1) {
    pattern.remove_prefix(1);  // The slash.
    const std::string_view segment = pattern.substr(0, pattern.find('/'));
    segments.emplace_back(segment);
    pattern.remove_prefix(segment.size());
  }
  return segments;
}

std::optional<Query> Parameters(const Route& route, const Target& target) {
  if (route.segments.size() != target.segments.size()) return std::nullopt;
  Query parameters;
  for (std::size_t i = 0; i < route.segments.size(); ++i) {
    const std::string& segment = route.segments[i];
    if (IsParameter(segment)) {
      parameters.emplace_back(segment.substr(1, segment.size() - 2), target.segments[i]);
    } else if (segment != target.segments[i]) {
      return std::nullopt;
    }
  }
  return parameters;
}

bool Serves(const Route& route, std::string_view method) {
  return route.method == method || (route.method == "GET" && method == "HEAD");
}

}  // namespace

void Router::Add(std::string method, std::string pattern, Handler handler, RouteOptions options) {
  Route route{.method = std::move(method),
              .pattern = std::move(pattern),
              .handler = std::move(handler),
              .options = options};
  route.segments = PatternSegments(route.pattern);
  // Literal segments sort before parameters, so the first match is the most exact one.
  const auto exactness = [](const Route& r) {
    std::vector<bool> parameters;
    for (const std::string& segment : r.segments) parameters.push_back(IsParameter(segment));
    return parameters;
  };
  const auto after = std::ranges::upper_bound(routes_, exactness(route), {}, exactness);
  routes_.insert(after, std::move(route));
}

Router::Found Router::Find(std::string_view method, const Target& target) const {
  std::set<std::string> allowed;
  for (const Route& route : routes_) {
    auto parameters = Parameters(route, target);
    if (!parameters) continue;
    if (Serves(route, method)) {
      return Match{.route = &route, .parameters = *std::move(parameters)};
    }
    allowed.insert(route.method);
    if (route.method == "GET") allowed.insert("HEAD");
  }
  if (allowed.empty()) return NoSuchPath{};
  std::string allow;
  for (const std::string& one : allowed) allow.append(allow.empty() ? "" : ", ").append(one);
  return WrongMethod{.allow = std::move(allow)};
}

Handler Answering(std::function<asio::awaitable<Response>(Request request)> answer) {
  return [answer = std::move(answer)](Exchange& exchange) -> asio::awaitable<void> {
    Response response = co_await answer(std::move(exchange.request()));
    // The result is ignored: a disconnected client cannot be told.
    [[maybe_unused]] const auto sent = co_await exchange.Send(std::move(response));
  };
}

}  // namespace caisson::net
