#include "tools/mcp/http_link.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <optional>
#include <utility>

#include "base/base64.h"
#include "base/run_on.h"
#include "base/spawn.h"
#include "tools/http/event_reader.h"
#include "tools/mcp/upstream_messages.h"
#include "wire/object.h"

namespace caisson {
namespace {

// From this version on, closing the connection cancels the request.
constexpr std::string_view kFirstModern = "2026-07-28";
constexpr std::chrono::seconds kWhisperTime{5};
constexpr std::size_t kMaxWhispers = 8;  // Beyond this, requests of the server are not answered.

std::string_view HeaderOf(const HttpResponse& response, std::string_view name) {
  for (const auto& [key, value] : response.headers) {
    if (key == name) return value;
  }
  return {};
}

// Encodes a name that the server chose as a header value, so that it cannot start another header.
std::string HeaderValue(const std::string& name) {
  constexpr std::string_view kEncoded = "=?base64?";
  const bool plain = std::ranges::all_of(name, [](char c) { return c > ' ' && c <= '~'; });
  if (plain && !name.starts_with(kEncoded)) return name;
  return std::string(kEncoded) + EncodeBase64(name) + "?=";
}

// The error for a status without an answer.
Error ErrorOf(int status) {
  const std::string said = " (status " + std::to_string(status) + ")";
  if (status == 401 || status == 403) {
    return Error(ErrorCode::kPermissionDenied, "the server refuses the configured token" + said);
  }
  if (status >= 300 && status < 400) {
    return Error(
        ErrorCode::kUnavailable,
        "the server redirects" + said + ", which must not get the token; configure the new URL");
  }
  return Error(ErrorCode::kUnavailable, "the server gave no answer" + said);
}

Result<Dict> ResultOf(jsonrpc::Response response) {
  if (const auto* error = std::get_if<jsonrpc::RpcError>(&response.outcome)) {
    return Error(ErrorCode::kFailedPrecondition, error->message);
  }
  auto* result = std::get_if<Dict>(&std::get<Value>(response.outcome).variant());
  if (result == nullptr)
    return Error(ErrorCode::kUnavailable, "the server's answer is not an object");
  return std::move(*result);
}

}  // namespace

// The reply to one question: the answer, or a stream of events that contains the answer.
class HttpLink::Incoming {
 public:
  Incoming(HttpLink& link, Value id, OnProgress on_progress)
      : link_(link), id_(std::move(id)), on_progress_(std::move(on_progress)) {}

  Rest Take(const HttpResponse& head, std::string_view piece) {
    is_stream_ = HeaderOf(head, "content-type").starts_with("text/event-stream");
    if (is_stream_) {
      events_.Put(piece);
      TakeEvents();
    } else {
      body_.append(piece);
    }
    return answer_ ? Rest::kUnwanted : Rest::kWanted;
  }

  // The stream has ended. Returns nullopt if there was no answer.
  std::optional<Result<Dict>> End() {
    if (is_stream_) {
      events_.End();
      TakeEvents();
    } else {
      TakeMessage(body_);
    }
    return std::move(answer_);
  }

 private:
  void TakeEvents() {
    while (auto event = events_.Next()) {
      if (!answer_) TakeMessage(*event);
    }
  }

  void TakeMessage(std::string_view text) {
    jsonrpc::Message message = jsonrpc::ReadMessage(text);
    if (auto* response = std::get_if<jsonrpc::Response>(&message)) {
      if (response->id == id_) answer_ = ResultOf(std::move(*response));
    } else if (const auto* request = std::get_if<jsonrpc::Request>(&message)) {
      link_.Whisper("", ReplyToServer(*request));
    } else if (const auto* told = std::get_if<jsonrpc::Notification>(&message)) {
      const auto& on_list_changed = link_.spec_.on_list_changed;
      if (told->method == kListChanged && on_list_changed) on_list_changed();
      const auto notice = ReadProgress(*told);
      if (notice && notice->token == id_ && on_progress_) on_progress_(notice->progress);
    }
  }

  HttpLink& link_;
  const Value id_;
  const OnProgress on_progress_;
  bool is_stream_ = false;
  EventReader events_;
  std::string body_;
  std::optional<Result<Dict>> answer_;
};

HttpRequest HttpLink::MakeRequest(std::string_view method, const Dict& params,
                                  std::string body) const {
  HttpRequest request{.method = "POST", .url = spec_.url, .body = std::move(body)};
  request.headers = {{"Content-Type", "application/json"},
                     {"Accept", "application/json, text/event-stream"}};
  if (!spec_.bearer.empty())
    request.headers.emplace_back("Authorization", "Bearer " + spec_.bearer);
  if (!session_.empty()) request.headers.emplace_back("Mcp-Session-Id", session_);
  if (!version_.empty()) request.headers.emplace_back("MCP-Protocol-Version", version_);
  // Legacy servers ignore these.
  if (!method.empty()) request.headers.emplace_back("Mcp-Method", method);
  if (method == "tools/call") {
    request.headers.emplace_back("Mcp-Name", HeaderValue(*FindAs<std::string>(params, "name")));
  }
  return request;
}

asio::awaitable<Result<HttpResponse>> HttpLink::Post(HttpRequest request, Time until,
                                                     BodySink sink) {
  co_await asio::this_coro::throw_if_cancelled(false);
  asio::steady_timer deadline(executor_, until);
  deadlines_.insert(&deadline);
  auto came =
      co_await Race(client_->Send(std::move(request), PrivateHosts::kAllow, std::move(sink)),
                    deadline.async_wait(asio::as_tuple(asio::use_awaitable)));
  deadlines_.erase(&deadline);
  if (came && *came) co_return *std::move(came);
  if (co_await IsCancelled()) {
    co_return Error(ErrorCode::kCancelled, "the wait for the answer was cancelled");
  }
  if (came) co_return *std::move(came);
  co_return Error(ErrorCode::kUnavailable,
                  broken_ ? "the server is gone" : "the server does not answer");
}

asio::awaitable<Result<Dict>> HttpLink::Ask(std::string method, Dict params,
                                            OnProgress on_progress) {
  if (broken_) co_return Error(ErrorCode::kUnavailable, "the server is gone");
  const Value id(++asked_);
  if (on_progress) AddProgressToken(params, id);
  Incoming incoming(*this, id, std::move(on_progress));
  const auto head =
      co_await Post(MakeRequest(method, params, jsonrpc::RequestText(id, method, params)),
                    method == "tools/call" ? Time::max() : Time::clock::now() + spec_.patience,
                    [&incoming](const HttpResponse& response, std::string_view piece) {
                      return incoming.Take(response, piece);
                    });
  if (head) co_return Conclude(*head, incoming);
  // The connection is closed. A legacy server takes that for a network failure, so it must be told.
  const bool legacy = !version_.empty() && version_ < kFirstModern;
  if (legacy && head.error().code() == ErrorCode::kCancelled) {
    Whisper("notifications/cancelled", CancelledText(id));
  }
  co_return head.error();
}

asio::awaitable<void> HttpLink::Tell(std::string method, Dict params) {
  // The result is ignored, because nothing can be done about a failure.
  static_cast<void>(
      co_await Post(MakeRequest(method, params, jsonrpc::NotificationText(method, params)),
                    Time::clock::now() + spec_.patience));
}

// Sends a message that needs no answer.
void HttpLink::Whisper(std::string_view method, std::string body) {
  if (broken_ || whispers_ >= kMaxWhispers) return;
  ++whispers_;
  const auto say = [](std::shared_ptr<HttpLink> self,
                      HttpRequest request) -> asio::awaitable<void> {
    static_cast<void>(co_await self->Post(std::move(request), Time::clock::now() + kWhisperTime));
    --self->whispers_;
  };
  Spawn(executor_, say(shared_from_this(), MakeRequest(method, {}, std::move(body))));
}

Result<Dict> HttpLink::Conclude(const HttpResponse& head, Incoming& incoming) {
  // A legacy server that has lost the session needs a new one.
  if (head.status == 404 && !session_.empty()) {
    broken_ = true;
    return Error(ErrorCode::kUnavailable, "the server has ended the session");
  }
  if (const auto session = HeaderOf(head, "mcp-session-id"); !session.empty()) session_ = session;
  if (auto answer = incoming.End()) return *std::move(answer);
  return ErrorOf(head.status);
}

void HttpLink::Close() {
  broken_ = true;
  for (asio::steady_timer* deadline : deadlines_) deadline->cancel();
}

}  // namespace caisson
