#include "protocol/door/status.h"

namespace caisson::door {
namespace {

int StatusOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return 400;
    case ErrorCode::kUnauthenticated:
      return 401;
    case ErrorCode::kPermissionDenied:
      return 403;
    case ErrorCode::kNotFound:
      return 404;
    case ErrorCode::kFailedPrecondition:
      return 409;
    case ErrorCode::kResourceExhausted:
      return 429;
    case ErrorCode::kCancelled:
    case ErrorCode::kUnavailable:
      return 503;
    case ErrorCode::kDeadlineExceeded:
      return 504;
    case ErrorCode::kNoSpace:
      return 507;
    case ErrorCode::kInternal:
      break;
  }
  return 500;
}

// A client gets the message only if it can act on it; in these cases, by a later retry.
net::Response Failure(int status, const Error& error) {
  if (status != 503 && status != 507) return {.status = status, .failure = error.message()};
  net::Response response = net::ToResponse({.status = status, .detail = error.message()});
  response.headers.Add("Retry-After", "5");
  response.failure = error.message();
  return response;
}

}  // namespace

net::Response ToResponse(const Error& error) {
  const int status = StatusOf(error.code());
  if (status >= 500) return Failure(status, error);
  // 401 and 404 have no details, because details would reveal what exists (I4).
  const bool silent = status == 401 || status == 404;
  net::Response response =
      net::ToResponse({.status = status, .detail = silent ? "" : error.message()});
  if (status == 401) response.headers.Add("WWW-Authenticate", "Bearer");
  if (status == 429) response.headers.Add("Retry-After", "1");
  return response;
}

Result<void> RequireJson(const net::Request& request) {
  const std::string* type = request.headers.Find("Content-Type");
  if (type != nullptr && net::HasToken(*type, "application/json")) return {};
  return Error(ErrorCode::kInvalidArgument, "Content-Type must be application/json");
}

}  // namespace caisson::door
