#include "tools/mcp/http_link.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <optional>
#include <string_view>
#include <utility>

#include "base/run_on.h"
#include "jsonrpc/message.h"
#include "wire/object.h"

namespace caisson {
namespace {

std::string_view HeaderOf(const HttpResponse& response, std::string_view name) {
  for (const auto& [key, value] : response.headers) {
    if (key == name) return value;
  }
  return {};
}

// The data of the next event of a stream, which is taken off it; nothing at the end.
std::optional<std::string> NextEvent(std::string_view& stream) {
  std::string data;
  while (!stream.empty()) {
    const std::size_t end = std::min(stream.find('\n'), stream.size());
    std::string_view line = stream.substr(0, end);
    stream.remove_prefix(std::min(end + 1, stream.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() && !data.empty()) return data;
    if (!line.starts_with("data:")) continue;
    line.remove_prefix(5);
    if (line.starts_with(' ')) line.remove_prefix(1);
    if (!data.empty()) data.push_back('\n');
    data.append(line);
  }
  return data.empty() ? std::nullopt : std::optional(std::move(data));
}

// What a status says that comes without an answer.
Error ErrorOf(int status) {
  const std::string said = " (status " + std::to_string(status) + ")";
  if (status == 401 || status == 403) {
    return Error(ErrorCode::kPermissionDenied, "the server does not accept our token" + said);
  }
  if (status >= 300 && status < 400) {
    return Error(ErrorCode::kUnavailable, "the server sends us elsewhere" + said +
                                              ", where its token must not go: "
                                              "configure the URL that it moved to");
  }
  return Error(ErrorCode::kUnavailable, "the server gave no answer" + said);
}

// The response to `id`, if that is what the message is.
std::optional<Result<Dict>> TakeResponse(jsonrpc::Message message, const Value& id) {
  auto* response = std::get_if<jsonrpc::Response>(&message);
  if (response == nullptr || response->id != id) return std::nullopt;
  if (const auto* error = std::get_if<jsonrpc::RpcError>(&response->outcome)) {
    return Error(ErrorCode::kFailedPrecondition, error->message);
  }
  auto* result = std::get_if<Dict>(&std::get<Value>(response->outcome).variant());
  if (result == nullptr) return Error(ErrorCode::kUnavailable, "the server's answer is no object");
  return std::move(*result);
}

}  // namespace

HttpRequest HttpLink::MakeRequest(const std::string& method, const Dict& params,
                                  std::string body) const {
  HttpRequest request{.method = "POST", .url = spec_.url, .body = std::move(body)};
  request.headers = {{"Content-Type", "application/json"},
                     {"Accept", "application/json, text/event-stream"}};
  if (!spec_.bearer.empty())
    request.headers.emplace_back("Authorization", "Bearer " + spec_.bearer);
  if (!session_.empty()) request.headers.emplace_back("Mcp-Session-Id", session_);
  if (!version_.empty()) request.headers.emplace_back("MCP-Protocol-Version", version_);
  // Legacy servers do not look at these.
  request.headers.emplace_back("Mcp-Method", method);
  if (method == "tools/call") {
    request.headers.emplace_back("Mcp-Name", *FindAs<std::string>(params, "name"));
  }
  return request;
}

asio::awaitable<Result<HttpResponse>> HttpLink::Post(HttpRequest request) const {
  using asio::experimental::awaitable_operators::operator||;
  asio::steady_timer deadline(executor_, spec_.patience);
  auto first = co_await (AsOptional(client_->Send(std::move(request), PrivateHosts::kAllow)) ||
                         deadline.async_wait(asio::as_tuple(asio::use_awaitable)));
  if (first.index() == 0 && std::get<0>(first)) co_return *std::get<0>(std::move(first));
  co_return Error(ErrorCode::kUnavailable, "the server does not answer");
}

asio::awaitable<Result<Dict>> HttpLink::Ask(std::string method, Dict params) {
  if (broken_) co_return Error(ErrorCode::kUnavailable, "the server is gone");
  const Value id(++asked_);
  const auto response =
      co_await Post(MakeRequest(method, params, jsonrpc::RequestText(id, method, params)));
  if (!response) co_return response.error();
  co_return ReadAnswer(*response, id);
}

asio::awaitable<void> HttpLink::Tell(std::string method, Dict params) {
  // Whether it arrived is nothing we could act on.
  static_cast<void>(
      co_await Post(MakeRequest(method, params, jsonrpc::NotificationText(method, params))));
}

Result<Dict> HttpLink::ReadAnswer(const HttpResponse& response, const Value& id) {
  // A legacy server that has forgotten the session wants to begin anew.
  if (response.status == 404 && !session_.empty()) {
    broken_ = true;
    return Error(ErrorCode::kUnavailable, "the server has ended the session");
  }
  if (const auto session = HeaderOf(response, "mcp-session-id"); !session.empty()) {
    session_ = session;
  }
  if (HeaderOf(response, "content-type").starts_with("text/event-stream")) {
    std::string_view stream = response.body;
    while (const auto event = NextEvent(stream)) {
      jsonrpc::Message message = jsonrpc::ReadMessage(*event);
      if (const auto* told = std::get_if<jsonrpc::Notification>(&message)) {
        const bool changed = told->method == "notifications/tools/list_changed";
        if (changed && spec_.on_list_changed) spec_.on_list_changed();
      }
      if (auto answer = TakeResponse(std::move(message), id)) return *std::move(answer);
    }
  } else if (auto answer = TakeResponse(jsonrpc::ReadMessage(response.body), id)) {
    return *std::move(answer);
  }
  return ErrorOf(response.status);
}

}  // namespace caisson
