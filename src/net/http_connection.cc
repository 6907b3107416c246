#include "net/http_connection.h"

#include <algorithm>
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <charconv>
#include <random>
#include <utility>

#include "net/response_head.h"

namespace caisson::net {
namespace {

using boost::system::error_code;

constexpr auto kQuietly = asio::as_tuple(asio::use_awaitable);
// Above this, a writer waits for the client to catch up.
constexpr std::size_t kEnoughQueuedBytes = 256u << 10;
constexpr std::size_t kReadAheadBytes = 4096;
// A body up to this size is sent together with its head.
constexpr std::size_t kJoinedBytes = 16u << 10;
constexpr int kClientGone = 499;

Error Gone() {
  return Error(ErrorCode::kUnavailable, "the client disconnected");
}

std::string NewInstance() {
  std::random_device random;
  std::array<char, 16> digits;
  const std::uint64_t number = (std::uint64_t{random()} << 32) | random();
  const auto end = std::to_chars(digits.begin(), digits.end(), number, 16).ptr;
  return "urn:request:" + std::string(digits.begin(), end);
}

std::string What(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an exception that is not a std::exception";
  }
}

}  // namespace

// The body of a streamed answer. Everything but Post happens on the connection's strand.
class Connection::Body final : public BodyStream, public std::enable_shared_from_this<Body> {
 public:
  enum class Framing { kChunked, kUntilClose, kNone };  // kNone: the answer to HEAD.

  Body(Connection& connection, Framing framing, StreamOptions options)
      : connection_(&connection),
        executor_(connection.peer_->socket().get_executor()),
        framing_(framing),
        options_(std::move(options)),
        silence_(executor_) {}

  asio::awaitable<Result<void>> Write(std::string bytes) override {
    if (!Push(std::move(bytes))) co_return Gone();
    const auto peer = connection_->peer_;
    if (co_await peer->Drained(kEnoughQueuedBytes) == Peer::Connected::kNo) co_return Gone();
    co_return Result<void>();
  }

  void Post(std::string bytes) override {
    asio::post(executor_, [self = shared_from_this(), bytes = std::move(bytes)]() mutable {
      if (!self->Push(std::move(bytes))) return;
      Connection& connection = *self->connection_;
      if (connection.peer_->queued_bytes() > connection.options_.max_queued_bytes) {
        connection.peer_->CutOff();
      }
    });
  }

  // Sends the keep-alive text after each pause, until the end.
  void KeepAlive() {
    if (options_.keep_alive.empty()) return;
    silence_.expires_after(options_.keep_alive_interval);
    silence_.async_wait([self = shared_from_this()](const error_code& cancelled) {
      if (!cancelled) self->Push(self->options_.keep_alive);
    });
  }

  // Ends the body. kComplete: the handler finished it.
  enum class Ending { kComplete, kCut };
  void End(Ending ending) {
    if (ending == Ending::kComplete && framing_ == Framing::kChunked) {
      connection_->peer_->Push("0\r\n\r\n");
    }
    connection_ = nullptr;
    silence_.cancel();
  }

 private:
  bool Push(std::string bytes) {
    if (connection_ == nullptr || connection_->peer_->gone()) return false;
    if (bytes.empty() || framing_ == Framing::kNone)
      return true;  // An empty chunk would end the body.
    if (framing_ == Framing::kChunked) {
      PushChunk(std::move(bytes));
    } else {
      connection_->peer_->Push(std::move(bytes));
    }
    KeepAlive();
    return true;
  }

  void PushChunk(std::string bytes) {
    Peer& peer = *connection_->peer_;
    std::array<char, 16> digits;
    const auto end = std::to_chars(digits.begin(), digits.end(), bytes.size(), 16).ptr;
    std::string head = std::string(digits.begin(), end) + "\r\n";
    if (bytes.size() <= kJoinedBytes) return peer.Push(head + bytes + "\r\n");
    peer.Push(std::move(head));
    peer.Push(std::move(bytes));
    peer.Push("\r\n");
  }

  Connection* connection_;  // Null after the end.
  const asio::any_io_executor executor_;
  const Framing framing_;
  const StreamOptions options_;
  asio::steady_timer silence_;
};

Connection::Connection(asio::ip::tcp::socket socket, const Router& router,
                       const ServerOptions& options, BodyBudget& bodies,
                       std::optional<Problem> refusal)
    : options_(options),
      // Room for a head, and for the start of the next request.
      peer_(std::make_shared<Peer>(std::move(socket), 2 * options.max_head_bytes,
                                   options.write_time)),
      reader_(peer_, router, options, bodies, std::move(refusal)),
      handler_end_(peer_->socket().get_executor(), asio::steady_timer::time_point::max()) {}

asio::awaitable<void> Connection::Run() {
  const auto self = shared_from_this();
  while (!finishing_ && !peer_->gone()) {
    RequestReader::Next next = co_await reader_.Read();
    if (std::holds_alternative<Ended>(next)) break;
    begun_at_ = std::chrono::steady_clock::now();
    if (auto* refusal = std::get_if<Refusal>(&next)) {
      co_await Refuse(std::move(*refusal));
    } else {
      co_await Serve(std::get<Incoming>(std::move(next)));
    }
    if (co_await peer_->Drained(0) == Peer::Connected::kNo) break;
    if (keep_alive_ == KeepAlive::kNo) break;
  }
  reader_.Enter(Phase::kParting);
  if (!peer_->gone() && keep_alive_ == KeepAlive::kNo) co_await peer_->Part();
  peer_->CutOff();
}

asio::awaitable<void> Connection::Refuse(Refusal refusal) {
  incoming_ = {};
  method_ = std::move(refusal.method);
  sharing_ = std::move(refusal.sharing);
  keep_alive_ = refusal.keep_alive;
  PushAnswer(std::move(refusal.response));
  Report();
  co_return;
}

asio::awaitable<void> Connection::Serve(Incoming incoming) {
  incoming_ = std::move(incoming);
  method_ = incoming_.request.method;
  sharing_ = SharingHeaders(options_.access, incoming_.request.headers);
  keep_alive_ = incoming_.keep_alive;
  answer_ = Answer::kNone;
  handler_running_ = true;
  handler_failed_ = client_left_ = false;
  instance_.clear();
  failure_.clear();
  handler_ = Stop(peer_->socket().get_executor());
  Spawn(*handler_, incoming_.route->handler(*this),
        [self = shared_from_this()](const std::exception_ptr& thrown) {
          self->OnHandlerEnd(thrown);
        });
  co_await Watch();
  EndAnswer();
  Report();
  incoming_ = {};  // Frees the body before waiting for the next request.
}

asio::awaitable<void> Connection::Watch() {
  auto& unread = peer_->unread();
  while (handler_running_ && unread.max_size() > unread.size()) {
    const std::size_t room = std::min(kReadAheadBytes, unread.max_size() - unread.size());
    const auto [error, bytes] = co_await peer_->socket().async_read_some(
        unread.prepare(room), asio::bind_cancellation_slot(unwatch_.slot(), kQuietly));
    unread.commit(bytes);
    if (!handler_running_) break;
    if (error) {
      client_left_ = true;
      keep_alive_ = KeepAlive::kNo;
      Cancel();
      break;
    }
  }
  co_await AwaitHandler();
}

asio::awaitable<void> Connection::AwaitHandler() {
  while (handler_running_) {
    [[maybe_unused]] const auto woken = co_await handler_end_.async_wait(kQuietly);
  }
}

void Connection::OnHandlerEnd(const std::exception_ptr& thrown) {
  handler_running_ = false;
  handler_failed_ = thrown != nullptr;
  if (thrown && !client_left_ && !aborting_) failure_ = What(thrown);
  unwatch_.emit(asio::cancellation_type::all);
  handler_end_.cancel();
}

void Connection::EndAnswer() {
  if (body_) {
    if (handler_failed_) keep_alive_ = KeepAlive::kNo;
    body_->End(handler_failed_ ? Body::Ending::kCut : Body::Ending::kComplete);
    body_.reset();
  }
  if (answer_ != Answer::kNone) return;
  if (client_left_) {
    status_ = kClientGone;
  } else if (aborting_) {
    PushWhole(ToResponse({.status = 503, .detail = "the server is shutting down"}));
  } else {
    FailAnswer(500, failure_.empty() ? "the handler did not answer" : failure_);
  }
}

void Connection::FailAnswer(int status, std::string what) {
  failure_ = std::move(what);
  instance_ = NewInstance();
  PushWhole(ToResponse({.status = status, .instance = instance_}));
}

asio::awaitable<Result<void>> Connection::Send(Response response) {
  if (answer_ != Answer::kNone) {
    co_return Error(ErrorCode::kFailedPrecondition, "the request has already been answered");
  }
  PushAnswer(std::move(response));
  if (co_await peer_->Drained(kEnoughQueuedBytes) == Peer::Connected::kNo) co_return Gone();
  co_return Result<void>();
}

asio::awaitable<Result<std::shared_ptr<BodyStream>>> Connection::Stream(Response head,
                                                                        StreamOptions options) {
  if (answer_ != Answer::kNone) {
    co_return Error(ErrorCode::kFailedPrecondition, "the request has already been answered");
  }
  if (!IsSafeHead(head)) {
    co_return Error(ErrorCode::kInvalidArgument, "a header of the answer has control characters");
  }
  if (peer_->gone()) co_return Gone();
  answer_ = Answer::kStream;
  status_ = head.status;
  using Framing = Body::Framing;
  Framing framing = incoming_.version >= 11 ? Framing::kChunked : Framing::kUntilClose;
  if (framing == Framing::kUntilClose || finishing_) keep_alive_ = KeepAlive::kNo;
  const std::string_view framing_field =
      framing == Framing::kChunked ? "Transfer-Encoding: chunked\r\n" : "";
  if (method_ == "HEAD") framing = Framing::kNone;
  body_ = std::make_shared<Body>(*this, framing, std::move(options));
  peer_->Push(ResponseHead(head, sharing_, keep_alive_, framing_field));
  body_->KeepAlive();
  co_return body_;
}

void Connection::PushAnswer(Response response) {
  if (!IsSafeHead(response)) {
    FailAnswer(500, "a header of the answer has control characters");
  } else if (!response.failure.empty() && response.body.empty()) {
    FailAnswer(response.status, std::move(response.failure));
  } else {
    failure_ = std::move(response.failure);
    PushWhole(std::move(response));
  }
}

void Connection::PushWhole(Response response) {
  answer_ = Answer::kWhole;
  status_ = response.status;
  if (finishing_) keep_alive_ = KeepAlive::kNo;
  const bool bodiless = response.status == 204 || response.status == 304;
  const std::string length =
      bodiless ? "" : "Content-Length: " + std::to_string(response.body.size()) + "\r\n";
  const bool has_body = !bodiless && method_ != "HEAD";
  std::string head = ResponseHead(response, sharing_, keep_alive_, length);
  if (has_body && response.body.size() <= kJoinedBytes) {
    head += response.body;
    return peer_->Push(std::move(head));
  }
  peer_->Push(std::move(head));
  if (has_body) peer_->Push(std::move(response.body));
}

void Connection::Report() {
  if (!options_.on_served) return;
  options_.on_served({.method = method_,
                      .route = incoming_.route == nullptr ? "" : incoming_.route->pattern,
                      .status = status_,
                      .time = std::chrono::steady_clock::now() - begun_at_,
                      .instance = std::exchange(instance_, {}),
                      .failure = std::exchange(failure_, {})});
}

void Connection::Cancel() {
  if (handler_running_) handler_->Request(asio::cancellation_type::all);
}

void Connection::Finish() {
  asio::dispatch(peer_->socket().get_executor(), [self = shared_from_this()] {
    self->finishing_ = true;
    if (self->state().phase == Phase::kIdle) self->peer_->CutOff();
  });
}

void Connection::Drop() {
  asio::dispatch(peer_->socket().get_executor(), [self = shared_from_this()] {
    self->finishing_ = true;
    if (self->state().phase != Phase::kServed) self->peer_->CutOff();
  });
}

void Connection::Abort() {
  asio::dispatch(peer_->socket().get_executor(), [self = shared_from_this()] {
    self->finishing_ = self->aborting_ = true;
    // Without a handler, the connection only reads or writes, slowly.
    self->handler_running_ ? self->Cancel() : self->peer_->CutOff();
  });
}

}  // namespace caisson::net
