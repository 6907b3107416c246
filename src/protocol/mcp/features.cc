#include "protocol/mcp/features.h"

#include <utility>

#include "wire/object.h"

namespace caisson::mcp {

Dict TextResult(std::string text) {
  Dict block = Object({{"type", "text"}});
  Append(block, "text", std::move(text));
  return Object({{"content", List{{Value(std::move(block))}}}});
}

Dict ErrorResult(std::string text) {
  Dict result = TextResult(std::move(text));
  Append(result, "isError", true);
  return result;
}

Dict InputRequired(Dict requests, std::optional<std::string> request_state) {
  Dict result = Object({{"resultType", "input_required"}});
  Append(result, "inputRequests", std::move(requests));
  if (request_state) Append(result, "requestState", *std::move(request_state));
  return result;
}

Reply FailureReply(const Error& error) {
  switch (error.code()) {
    case ErrorCode::kNoSpace:
    case ErrorCode::kUnavailable:
      return RpcError{.code = RpcCode::kInternalError,
                      .message = error.message(),
                      .data = Object({{"code", std::string(ToString(error.code()))}})};
    default:
      return ErrorResult(error.message());
  }
}

RpcError InvalidParams(std::string message, Value data) {
  return {.code = RpcCode::kInvalidParams, .message = std::move(message), .data = std::move(data)};
}

}  // namespace caisson::mcp
