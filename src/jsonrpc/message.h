// JSON-RPC 2.0 messages as MCP uses them: requests, notifications, responses, and batches of them.
//
//   Message message = ReadMessage(line);
//   if (const auto* request = std::get_if<Request>(&message)) Send(ReplyText(request->id, reply));
//
// Trust     Text comes from a client or server that may be hostile. Results have the shape of a
//           message; the reader of `params` must check its content.
// Threads   Pure functions and values.
// Lifetime  Values.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "wire/value.h"

namespace caisson::jsonrpc {

// The codes of JSON-RPC, and those that MCP defines (2026-07-28).
enum class RpcCode : int {
  kParseError = -32700,
  kInvalidRequest = -32600,
  kMethodNotFound = -32601,
  kInvalidParams = -32602,
  kInternalError = -32603,
  kResourceNotFound = -32002,  // Before 2026-07-28.
  kHeaderMismatch = -32020,
  kMissingCapability = -32021,
  kUnsupportedVersion = -32022,
};

struct RpcError {
  RpcCode code;
  std::string message;
  Value data{};  // None: the field is absent.
};

// The reply to a request: the fields of its result, or an error.
using Reply = std::variant<Dict, RpcError>;

struct Request {
  Value id;  // A str or an int.
  std::string method;
  Dict params{};
};
struct Notification {
  std::string method;
  Dict params{};
};
struct Response {
  Value id;
  std::variant<Value, RpcError> outcome;
};
// Text that is not a valid message, and the reply to it. The id is None if it could not be read.
struct BadMessage {
  Value id;
  RpcError error;
};
using Message = std::variant<Request, Notification, Response, BadMessage>;

// An array of messages is not a message.
Message ReadMessage(std::string_view text);

// The contents of one text: a message, or an array of messages.
struct Batch {
  std::vector<Message> messages{};  // At least one.
  bool is_array = false;
};
// An array that is empty or has more than kMaxBatch elements is one BadMessage.
Batch ReadBatch(std::string_view text);
inline constexpr std::size_t kMaxBatch = 64;

// Each returns one line. A result that JSON cannot hold becomes an internal error, because this
// program made it.
std::string ReplyText(const Value& id, Reply reply);
std::string RequestText(const Value& id, std::string_view method, Dict params);
std::string NotificationText(std::string_view method, Dict params);
// Returns the array of texts of one message each.
std::string BatchText(const std::vector<std::string>& texts);

}  // namespace caisson::jsonrpc
