#include "protocol/responses/door.h"

#include <algorithm>
#include <any>
#include <utility>

#include "base/base64.h"
#include "protocol/responses/api_error.h"
#include "protocol/responses/wire_id.h"

namespace caisson::responses {
namespace {

constexpr std::size_t kMaxInlineImages = 8;  // Of one answer.
constexpr std::uint64_t kMaxInlineBytes = 256u << 10;
constexpr std::size_t kMaxRequestIdBytes = 128;

// The trace id of "00-<32 digits>-<16 digits>-01"; empty if there is none.
std::string TraceId(const net::Headers& headers) {
  const std::string* parent = headers.Find("traceparent");
  if (parent == nullptr || parent->size() < 55 || (*parent)[2] != '-' || (*parent)[35] != '-') {
    return {};
  }
  const std::string id = parent->substr(3, 32);
  const bool hex = std::ranges::all_of(
      id, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
  return hex && id.find_first_not_of('0') != id.npos ? id : std::string();
}

std::string RequestId(const net::Headers& headers) {
  if (std::string trace = TraceId(headers); !trace.empty()) return trace;
  const std::string* given = headers.Find("x-request-id");
  if (given != nullptr && IsWireId(*given) && given->size() <= kMaxRequestIdBytes) return *given;
  return NewWireId("req_");
}

std::string SessionOf(const Door& door, const net::Request& head) {
  if (door.form.platform == Form::Platform::kNone) return {};
  const std::string* given = head.FindQuery("agent_session_id");
  if (given != nullptr && IsWireId(*given)) return *given;
  return door.options.session.empty() ? NewWireId("") : door.options.session;
}

net::Response Refusal(const Door& door, const RequestNames& names, const ApiError& error) {
  net::Response response = ToResponse(error);
  AddHeaders(door, names, response.status, response.headers);
  return response;
}

asio::awaitable<Result<Caller>> ResolveCaller(const Door& door, const net::Request& head,
                                              RequestNames names) {
  RequestOrigin origin{.peer = head.peer};
  for (const auto& [name, value] : head.headers) {
    origin.headers.push_back({.name = name, .value = value});
  }
  auto identity = co_await door.services.identity.Resolve(std::move(origin));
  if (!identity) co_return std::move(identity).error();
  co_return Caller{
      .identity = *identity, .owner = IsolationKey(*identity), .names = std::move(names)};
}

std::optional<ApiError> MissingHeader(const Door& door, const net::Request& head) {
  const std::string& name = door.options.required_header;
  if (name.empty() || head.headers.Find(name) != nullptr) return std::nullopt;
  return ApiError{.message = "The header '" + name +
                             "' is missing. This server is hosted by a platform and answers its "
                             "requests only.",
                  .code = "missing_header"};
}

}  // namespace

net::Screen MakeScreen(std::shared_ptr<const Door> door) {
  return [door](net::Request& head) -> asio::awaitable<std::optional<net::Response>> {
    const RequestNames names{.request_id = RequestId(head.headers),
                             .session = SessionOf(*door, head)};
    auto caller = co_await ResolveCaller(*door, head, names);
    if (!caller) co_return Refusal(*door, names, FromError(caller.error()));
    if (const auto missing = MissingHeader(*door, head)) co_return Refusal(*door, names, *missing);
    head.account = caller->owner.str();
    head.caller = *std::move(caller);
    co_return std::nullopt;
  };
}

net::AdaptRefusal MakeAdaptRefusal(std::shared_ptr<const Door> door) {
  return [door](const net::Request& head, net::Response& refusal) {
    ApiError error{.status = refusal.status, .message = "The server cannot read the body."};
    if (refusal.status == 413) {
      error.message = "The body is longer than " + std::to_string(kMaxBodyBytes) + " bytes.";
      error.code = "request_too_large";
    } else if (refusal.status == 429) {
      error.message = "Your requests take too much memory; wait for the answer to one.";
      error.code = "rate_limit_exceeded";
    }
    net::Response adapted = ToResponse(error);
    adapted.failure = refusal.failure;
    AddHeaders(*door, CallerOf(head).names, adapted.status, adapted.headers);
    refusal = std::move(adapted);
  };
}

const Caller& CallerOf(const net::Request& request) {
  return std::any_cast<const Caller&>(request.caller);
}

void AddHeaders(const Door& door, const RequestNames& names, int status, net::Headers& headers) {
  headers.Add("x-request-id", names.request_id);
  if (door.form.platform == Form::Platform::kNone) return;
  headers.Add("x-platform-server", door.options.server_name + " (c++); responses/2.0.0");
  headers.Add("x-agent-session-id", names.session);
  if (status >= 400) headers.Add("x-platform-error-source", status >= 500 ? "platform" : "user");
}

asio::awaitable<ImageUrls> LoadImages(const Door& door, IsolationKey owner,
                                      const std::vector<TurnItem>& items) {
  ImageUrls urls;
  if (!door.services.load_file) co_return urls;
  for (const TurnItem& item : items) {
    const auto* code = std::get_if<CodeCall>(&item.content);
    if (code == nullptr || code->run.str().empty()) continue;
    for (const TurnFile& file : code->files) {
      if (!IsImage(file)) continue;
      std::string url = FilePath(code->run, file.number);
      if (file.bytes <= kMaxInlineBytes && urls.size() < kMaxInlineImages) {
        const auto bytes = co_await door.services.load_file(owner, code->run, file.number);
        if (bytes && bytes->size() <= kMaxInlineBytes) {
          url = "data:" + file.media_type + ";base64," + EncodeBase64(*bytes);
        }
      }
      urls.emplace(std::pair(code->run, file.number), std::move(url));
    }
  }
  co_return urls;
}

net::Handler Handle(std::shared_ptr<const Door> door, Operation operation) {
  return net::Answering([door, operation](net::Request request) -> asio::awaitable<net::Response> {
    Caller caller = CallerOf(request);
    const RequestNames names = caller.names;
    net::Response response = co_await operation(*door, std::move(caller), std::move(request));
    AddHeaders(*door, names, response.status, response.headers);
    co_return response;
  });
}

}  // namespace caisson::responses
