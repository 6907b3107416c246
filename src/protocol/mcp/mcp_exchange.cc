#include "protocol/mcp/mcp_exchange.h"

#include "protocol/mcp/mcp_message.h"
#include "wire/object.h"

namespace caisson::mcp {

void Exchange::Notify(std::string_view method, Dict params) {
  Send(NotificationText(method, std::move(params)), Delivery::kNeeded);
}

void Exchange::Progress(Value done, std::optional<Value> total, std::string message) {
  if (!progress_token_) return;
  Dict params = Object({{"progressToken", *progress_token_}, {"progress", std::move(done)}});
  if (total) Append(params, "total", *std::move(total));
  if (!message.empty()) Append(params, "message", std::move(message));
  Send(NotificationText("notifications/progress", std::move(params)), Delivery::kMayBeLost);
}

void Exchange::Log(LogLevel level, std::string_view logger, Value data) {
  if (!wants_log(level)) return;
  Dict params = Object({{"level", std::string(ToString(level))}, {"logger", std::string(logger)}});
  Append(params, "data", std::move(data));
  Send(NotificationText("notifications/message", std::move(params)), Delivery::kMayBeLost);
}

asio::awaitable<Result<Value>> Exchange::Ask(std::string method, Dict params) {
  if (caller_.era == Era::kModern || connection_ == nullptr) {
    co_return Error(ErrorCode::kFailedPrecondition, "this client cannot be asked during a request");
  }
  if (!is_reachable()) co_return Error(ErrorCode::kUnavailable, "the client disconnected");
  asking_ = true;
  auto answer = co_await connection_->questions.Ask([&](const Value& id) {
    Send(RequestText(id, method, std::move(params)), Delivery::kNeeded);
  });
  asking_ = false;
  co_return answer;
}

}  // namespace caisson::mcp
