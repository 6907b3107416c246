#include "jsonrpc/message.h"

#include <cstdint>
#include <utility>

#include "base/visible.h"
#include "wire/json.h"
#include "wire/object.h"

namespace caisson::jsonrpc {
namespace {

BadMessage Bad(RpcCode code, std::string message, Value id = {}) {
  return {.id = std::move(id), .error = {.code = code, .message = std::move(message)}};
}

bool IsId(const Value& id) {
  return id.If<std::string>() != nullptr || id.If<std::int64_t>() != nullptr;
}

// Servers of all kinds answer here, so an invalid code is treated as an internal error.
RpcError ReadError(const Dict& fields) {
  const auto* code = FindAs<std::int64_t>(fields, "code");
  const auto* message = FindAs<std::string>(fields, "message");
  const Value* data = fields.Find("data");
  const bool fits = code != nullptr && *code >= INT32_MIN && *code <= INT32_MAX;
  return {.code = fits ? static_cast<RpcCode>(*code) : RpcCode::kInternalError,
          .message = message == nullptr ? "an error without a message" : *message,
          .data = data == nullptr ? Value() : *data};
}

Message ReadResponse(const Dict& fields, const Value& id) {
  if (const Value* result = fields.Find("result")) return Response{.id = id, .outcome = *result};
  if (const auto* error = FindAs<Dict>(fields, "error")) {
    return Response{.id = id, .outcome = ReadError(*error)};
  }
  return Bad(RpcCode::kInvalidRequest, "a message has a method, a result or an error", id);
}

Message ReadFields(const Dict& fields) {
  const Value* given_id = fields.Find("id");
  const Value id = given_id != nullptr && IsId(*given_id) ? *given_id : Value();
  const auto* version = FindAs<std::string>(fields, "jsonrpc");
  if (version == nullptr || *version != "2.0") {
    return Bad(RpcCode::kInvalidRequest, "jsonrpc must be \"2.0\"", id);
  }
  if (given_id != nullptr && id.is_none()) {
    return Bad(RpcCode::kInvalidRequest, "id must be a string or an integer");
  }
  if (fields.Find("method") == nullptr) return ReadResponse(fields, id);
  const auto* method = FindAs<std::string>(fields, "method");
  if (method == nullptr) return Bad(RpcCode::kInvalidRequest, "method must be a string", id);
  const Value* params = fields.Find("params");
  const Dict* given = params == nullptr ? nullptr : params->If<Dict>();
  if (params != nullptr && given == nullptr) {
    return Bad(RpcCode::kInvalidParams, "params must be an object", id);
  }
  Dict taken = given == nullptr ? Dict() : *given;
  if (given_id == nullptr) return Notification{.method = *method, .params = std::move(taken)};
  return Request{.id = id, .method = *method, .params = std::move(taken)};
}

Message ReadValue(const Value& value) {
  const auto* fields = value.If<Dict>();
  if (fields == nullptr) return Bad(RpcCode::kInvalidRequest, "a message is a JSON object");
  return ReadFields(*fields);
}

std::string Text(Dict fields) {
  fields.items.insert(fields.items.begin(), {Value("jsonrpc"), Value("2.0")});
  auto text = ToJson(Value(std::move(fields)));
  // The same JSON with deceptive characters escaped, because clients show messages to people.
  return text ? SpellOutDeceptive(*text) : std::string();
}

Dict ErrorFields(RpcError error) {
  Dict fields = Object({{"code", static_cast<std::int64_t>(error.code)}});
  Append(fields, "message", std::move(error.message));
  if (!error.data.is_none()) Append(fields, "data", std::move(error.data));
  return fields;
}

std::string ErrorText(const Value& id, RpcError error) {
  Dict fields;
  if (!id.is_none()) Append(fields, "id", id);  // If no id could be read, the reply has none.
  Append(fields, "error", ErrorFields(std::move(error)));
  return Text(std::move(fields));
}

}  // namespace

Message ReadMessage(std::string_view text) {
  Batch batch = ReadBatch(text);
  if (batch.is_array) return Bad(RpcCode::kInvalidRequest, "one message is expected, not an array");
  return std::move(batch.messages.front());
}

Batch ReadBatch(std::string_view text) {
  const auto value = ParseJson(text);
  if (!value) {
    return {{Bad(RpcCode::kParseError, "this is not JSON: " + value.error().message())}};
  }
  const auto* several = value->If<List>();
  if (several == nullptr) return {{ReadValue(*value)}};
  if (several->items.empty() || several->items.size() > kMaxBatch) {
    return {{Bad(RpcCode::kInvalidRequest,
                 "a batch has 1 to " + std::to_string(kMaxBatch) + " messages")}};
  }
  Batch batch{.is_array = true};
  for (const Value& item : several->items) batch.messages.push_back(ReadValue(item));
  return batch;
}

std::string ReplyText(const Value& id, Reply reply) {
  if (auto* error = std::get_if<RpcError>(&reply)) return ErrorText(id, std::move(*error));
  Dict fields = Object({{"id", id}});
  Append(fields, "result", std::get<Dict>(std::move(reply)));
  std::string text = Text(std::move(fields));
  if (!text.empty()) return text;
  return ErrorText(
      id, {.code = RpcCode::kInternalError, .message = "the result cannot be written as JSON"});
}

std::string RequestText(const Value& id, std::string_view method, Dict params) {
  Dict fields = Object({{"id", id}, {"method", std::string(method)}});
  Append(fields, "params", std::move(params));
  return Text(std::move(fields));
}

std::string NotificationText(std::string_view method, Dict params) {
  Dict fields = Object({{"method", std::string(method)}});
  Append(fields, "params", std::move(params));
  return Text(std::move(fields));
}

std::string BatchText(const std::vector<std::string>& texts) {
  std::string batch = "[";
  for (const std::string& text : texts) batch.append(batch.size() > 1 ? "," : "").append(text);
  return batch + "]";
}

}  // namespace caisson::jsonrpc
