#include "protocol/mcp/stdio_server.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <utility>
#include <vector>

#include "base/run_on.h"

namespace caisson::mcp {
namespace {

constexpr std::size_t kMaxRequests = 64;  // At the same time.
// Beyond it, messages that may be lost are dropped.
constexpr std::size_t kMaxUnsentBytes = 4u << 20;
constexpr std::chrono::milliseconds kLastAnswers{500};  // After the client has closed.

}  // namespace

class StdioServer::LineExchange final : public Exchange {
 public:
  LineExchange(Caller caller, const Request& request, std::shared_ptr<ClientConnection> connection,
               LineStream& lines, const RequestsUnderWay::Underway& underway)
      : Exchange(std::move(caller), request, std::move(connection)),
        lines_(lines),
        underway_(underway) {}

  bool is_unwanted() const override { return underway_.unwanted; }

 protected:
  void Send(std::string text, Delivery delivery) override {
    if (delivery == Delivery::kMayBeLost && lines_.unsent_bytes() > kMaxUnsentBytes) return;
    lines_.Write(std::move(text));
  }

 private:
  LineStream& lines_;
  const RequestsUnderWay::Underway& underway_;
};

// The answers to one line: each is sent when ready, or all of a batch together with the last.
// Shared by the requests of the line.
class StdioServer::Answers {
 public:
  Answers(LineStream& lines, bool together) : lines_(lines), together_(together) {}
  Answers(const Answers&) = delete;
  Answers& operator=(const Answers&) = delete;
  ~Answers() {
    if (!texts_.empty()) lines_.Write(BatchText(texts_));
  }

  void Give(std::string text) {
    if (together_) {
      texts_.push_back(std::move(text));
    } else {
      lines_.Write(std::move(text));
    }
  }

 private:
  LineStream& lines_;
  const bool together_;
  std::vector<std::string> texts_;
};

StdioServer::StdioServer(const Server& server, LineStream& lines, Principal principal,
                         const asio::any_io_executor& executor)
    : server_(server),
      lines_(lines),
      connection_(std::make_shared<ClientConnection>(std::move(principal), executor)),
      idle_(executor) {}

asio::awaitable<void> StdioServer::Read() {
  while (auto line = co_await lines_.Read()) {
    Take(*line);
    if (lines_.is_deaf()) break;
  }
}

// Notifications for legacy clients; a modern client subscribes (subscriptions/listen).
asio::awaitable<void> StdioServer::TellChanges() {
  co_await server_.changes().Tell(connection_->LegacyCaller(), [this] {
    if (connection_->initialized) lines_.Write(NotificationText(kToolsChanged, {}));
  });
}

asio::awaitable<void> StdioServer::Serve() {
  if (server_.changes().can_happen()) {
    co_await Race(Read(), TellChanges());
  } else {
    co_await Read();
  }
  connection_->questions.GiveUp();
  connection_->requests.StopEndless();
  if (!lines_.is_deaf()) co_await WaitForRequests(kLastAnswers);
  connection_->requests.StopAll();
  co_await WaitForRequests(asio::steady_timer::duration::max());
  co_await lines_.Flush();
}

asio::awaitable<void> StdioServer::WaitForRequests(asio::steady_timer::duration at_most) {
  if (connection_->requests.size() == 0) co_return;
  using Time = asio::steady_timer::time_point;
  idle_.expires_at(at_most == asio::steady_timer::duration::max()
                       ? Time::max()
                       : asio::steady_timer::clock_type::now() + at_most);
  co_await idle_.async_wait(asio::as_tuple(asio::use_awaitable));
}

void StdioServer::Take(const Line& line) {
  if (line.too_long) {
    lines_.Write(ReplyText(
        {}, RpcError{.code = RpcCode::kInvalidRequest, .message = "the message is too long"}));
  } else if (line.text.find_first_not_of(" \t\r") != std::string::npos) {
    Batch batch = ReadBatch(line.text);
    if (batch.is_array && connection_->version != kBatchVersion) {
      return lines_.Write(ReplyText({}, NoBatches()));
    }
    const auto answers = std::make_shared<Answers>(lines_, batch.is_array);
    for (Message& message : batch.messages) TakeMessage(std::move(message), answers);
  }
}

void StdioServer::TakeMessage(Message message, const std::shared_ptr<Answers>& answers) {
  if (auto* request = std::get_if<Request>(&message)) {
    Begin(std::move(*request), answers);
  } else if (auto* notification = std::get_if<Notification>(&message)) {
    Server::Notice(*notification, *connection_);
  } else if (auto* response = std::get_if<Response>(&message)) {
    connection_->questions.Answer(std::move(*response));
  } else {
    auto& bad = std::get<BadMessage>(message);
    answers->Give(ReplyText(bad.id, std::move(bad.error)));
  }
}

void StdioServer::Begin(Request request, std::shared_ptr<Answers> answers) {
  const auto refuse = [&](std::string why) {
    answers->Give(ReplyText(request.id,
                            RpcError{.code = RpcCode::kInvalidRequest, .message = std::move(why)}));
  };
  if (connection_->requests.size() >= kMaxRequests)
    return refuse("too many requests are running; wait for an answer");
  auto underway = std::make_shared<RequestsUnderWay::Underway>(Stop(idle_.get_executor()));
  underway->endless = request.method == "subscriptions/listen";
  if (!connection_->requests.Begin(request.id, underway)) {
    return refuse("a request with this id is already running");
  }
  Spawn(underway->stop, Answer(std::move(request), underway, std::move(answers)));
}

asio::awaitable<void> StdioServer::Answer(Request request,
                                          std::shared_ptr<RequestsUnderWay::Underway> underway,
                                          std::shared_ptr<Answers> answers) {
  co_await asio::this_coro::throw_if_cancelled(false);
  std::variant<Caller, RpcError> caller = connection_->LegacyCaller();
  const bool modern = MetaVersion(request.params) != nullptr || request.method == "server/discover";
  if (modern) caller = ReadModernCaller(request.params, connection_->principal);
  Reply reply;
  if (auto* error = std::get_if<RpcError>(&caller)) {
    reply = std::move(*error);
  } else {
    LineExchange exchange(std::get<Caller>(std::move(caller)), request, connection_, lines_,
                          *underway);
    reply = co_await server_.Handle(request, exchange);
  }
  // A cancelled request gets no answer.
  if (!underway->unwanted) answers->Give(ReplyText(request.id, std::move(reply)));
  answers.reset();  // Before the end of the last request is signalled.
  connection_->requests.End(request.id);
  if (connection_->requests.size() == 0) idle_.cancel();
}

}  // namespace caisson::mcp
