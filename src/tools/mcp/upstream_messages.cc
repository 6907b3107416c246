#include "tools/mcp/upstream_messages.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "base/utf8.h"
#include "wire/object.h"

namespace caisson {
namespace {

constexpr std::size_t kMaxMessageBytes = 500;

std::optional<double> NumberIn(const Dict& fields, std::string_view name) {
  if (const auto* whole = FindAs<std::int64_t>(fields, name)) return static_cast<double>(*whole);
  const auto* number = FindAs<double>(fields, name);
  if (number == nullptr || !std::isfinite(*number)) return std::nullopt;
  return *number;
}

}  // namespace

void AddProgressToken(Dict& params, const Value& id) {
  for (auto& [key, value] : params.items) {
    auto* meta = std::get_if<Dict>(&value.variant());
    if (key == Value("_meta") && meta != nullptr) return Append(*meta, "progressToken", id);
  }
  Append(params, "_meta", Object({{"progressToken", id}}));
}

std::optional<ProgressNotice> ReadProgress(const jsonrpc::Notification& notification) {
  if (notification.method != kProgress) return std::nullopt;
  const Value* token = notification.params.Find("progressToken");
  const auto done = NumberIn(notification.params, "progress");
  if (token == nullptr || !done) return std::nullopt;
  ProgressNotice notice{.token = *token, .progress = {.done = *done}};
  notice.progress.total = NumberIn(notification.params, "total");
  if (const auto* message = FindAs<std::string>(notification.params, "message")) {
    notice.progress.message = ToUtf8(std::string_view(*message).substr(0, kMaxMessageBytes));
  }
  return notice;
}

std::string CancelledText(const Value& id) {
  return jsonrpc::NotificationText("notifications/cancelled",
                                   Object({{"requestId", id}, {"reason", "not wanted"}}));
}

std::string ReplyToServer(const jsonrpc::Request& request) {
  if (request.method == "ping") return jsonrpc::ReplyText(request.id, Dict());
  return jsonrpc::ReplyText(
      request.id,
      jsonrpc::RpcError{.code = jsonrpc::RpcCode::kMethodNotFound,
                        .message = "this client does not support \"" + request.method + "\""});
}

}  // namespace caisson
