#include "protocol/responses/api_error.h"

#include <utility>

#include "base/json_object.h"

namespace caisson::responses {
namespace {

std::string_view TypeOf(int status) {
  if (status == 429) return "rate_limit_error";
  return status >= 500 ? "server_error" : "invalid_request_error";
}

std::string Quoted(std::string_view id) {
  return "'" + std::string(id) + "'";
}

std::string TextOrNull(const std::string& text) {
  return text.empty() ? "null" : JsonQuoted(text);
}

}  // namespace

ApiError FromError(const Error& error) {
  const auto same = [&](int status, const char* code) {
    return ApiError{.status = status, .message = error.message(), .code = code};
  };
  const auto own = [&](int status, std::string message, const char* code) {
    return ApiError{
        .status = status, .message = std::move(message), .code = code, .log = error.message()};
  };
  switch (error.code()) {
    case ErrorCode::kInvalidArgument:
      return same(400, "invalid_value");
    case ErrorCode::kUnauthenticated:
      return own(401, "Missing or invalid credentials: send a valid key as Bearer token.",
                 "invalid_api_key");
    case ErrorCode::kPermissionDenied:
      return same(403, "permission_denied");
    case ErrorCode::kNotFound:
      return own(404, "Not found.", "not_found");
    case ErrorCode::kFailedPrecondition:
      return same(409, "conflict");
    case ErrorCode::kResourceExhausted:
      return same(429, "rate_limit_exceeded");
    case ErrorCode::kCancelled:
    case ErrorCode::kUnavailable:
      return own(503, "The server cannot answer now; try again later.", "service_unavailable");
    case ErrorCode::kNoSpace:
      return own(503, "The server's store is full; try again later.", "service_unavailable");
    case ErrorCode::kDeadlineExceeded:
      return own(504, "The request took too long.", "timeout");
    case ErrorCode::kInternal:
      break;
  }
  return own(500, "The server had an error; its log has the details under the request id.", "");
}

std::string ErrorJson(const ApiError& error) {
  const std::string inner = JsonObject()
                                .Text("message", error.message)
                                .Text("type", TypeOf(error.status))
                                .Put("param", TextOrNull(error.param))
                                .Put("code", TextOrNull(error.code))
                                .Finish();
  return JsonObject().Put("error", inner).Finish();
}

net::Response ToResponse(const ApiError& error, Repeat repeat) {
  net::Response response = net::JsonResponse(error.status, ErrorJson(error));
  // For the log. A route that is not offered (501) is no failure of the server.
  if (error.status >= 500 && error.status != 501) {
    response.failure = error.log.empty() ? error.message : error.log;
  }
  if (error.status == 401) response.headers.Add("WWW-Authenticate", "Bearer");
  if (repeat == Repeat::kNever) {
    response.headers.Add("x-should-retry", "false");
  } else if (error.status == 429) {
    response.headers.Add("Retry-After", "1");
  } else if (error.status == 503) {
    response.headers.Add("Retry-After", "5");
  }
  return response;
}

ApiError NoResponse(std::string_view id) {
  return {.status = 404,
          .message = "Response with id " + Quoted(id) + " not found.",
          .code = "response_not_found"};
}

ApiError NoPreviousResponse(std::string_view id) {
  return {.status = 404,
          .message = "Previous response with id " + Quoted(id) + " not found.",
          .param = "previous_response_id",
          .code = "previous_response_not_found"};
}

ApiError NoConversation(std::string_view id) {
  return {.status = 404,
          .message = "Conversation with id " + Quoted(id) + " not found.",
          .param = "conversation",
          .code = "conversation_not_found"};
}

ApiError NoItem(std::string_view id) {
  return {.status = 404,
          .message = "Item with id " + Quoted(id) + " not found.",
          .code = "item_not_found"};
}

ApiError NoModel(std::string_view name) {
  return {.status = 404,
          .message = "The model " + Quoted(name) +
                     " does not exist; GET /v1/models lists the agents of this server.",
          .param = "model",
          .code = "model_not_found"};
}

ApiError InvalidValue(std::string_view param, std::string message) {
  return {.message = std::move(message), .param = std::string(param), .code = "invalid_value"};
}

}  // namespace caisson::responses
