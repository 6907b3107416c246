#include "protocol/mcp/http_endpoint.h"

#include <any>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <deque>
#include <exception>
#include <utility>

#include "base/low_priority_pool.h"
#include "net/sse.h"
#include "protocol/mcp/http_headers.h"
#include "runs/door_caller.h"
#include "wire/object.h"

namespace caisson::mcp {
namespace {

constexpr std::string_view kSessionHeader = "Mcp-Session-Id";
constexpr std::string_view kMetadataPath = "/.well-known/oauth-protected-resource";
constexpr std::size_t kMaxBodyBytes = 16u << 20;
constexpr std::size_t kMaxRequestsPerSession = 64;

net::Response ErrorResponse(int status, const Value& id, RpcError error) {
  return net::JsonResponse(status, ReplyText(id, std::move(error)));
}

// A disconnected client cannot be told; the failure is ignored.
asio::awaitable<void> Tell(net::Exchange& http, net::Response response) {
  static_cast<void>(co_await http.Send(std::move(response)));
}

net::Response Accepted() {
  return {.status = 202};
}

// The status of an error for a client of the modern era.
int StatusOf(const Reply& reply, Era era) {
  const auto* error = std::get_if<RpcError>(&reply);
  if (error == nullptr || era == Era::kLegacy) return 200;
  switch (error->code) {
    case RpcCode::kMethodNotFound:
      return 404;
    case RpcCode::kHeaderMismatch:
    case RpcCode::kMissingCapability:
    case RpcCode::kUnsupportedVersion:
      return 400;
    default:
      return 200;
  }
}

bool IsJson(const net::Request& request) {
  const std::string* type = request.headers.Find("Content-Type");
  return type != nullptr && net::HasToken(*type, "application/json");
}

// The URL by which this client reaches the server.
std::string BaseUrl(const net::Request& request) {
  const std::string* host = request.headers.Find("Host");
  const std::string* scheme = request.headers.Find("X-Forwarded-Proto");
  return (scheme != nullptr && *scheme == "https" ? "https://" : "http://") +
         (host == nullptr ? std::string() : *host);
}

// Processes a message of a session's client that needs no answer.
void Deliver(Message message, const std::shared_ptr<HttpSession>& session) {
  asio::post(session->strand, [session, message = std::move(message)]() mutable {
    if (auto* notification = std::get_if<Notification>(&message)) {
      Server::Notice(*notification, *session->connection);
    } else if (auto* response = std::get_if<Response>(&message)) {
      session->connection->questions.Answer(std::move(*response));
    }
  });
}

// Precondition: the request passed the screen.
const Principal& PrincipalOf(const net::Request& request) {
  return std::any_cast<const Principal&>(request.caller);
}

RequestOrigin OriginOf(const net::Request& request) {
  RequestOrigin origin{.peer = request.peer};
  for (const net::Headers::Field& field : request.headers) {
    origin.headers.push_back({.name = field.name, .value = field.value});
  }
  return origin;
}

}  // namespace

// A POST that is being answered: messages before the answers, in order, and then the answers: one,
// or those of a batch. The handlers of its requests may run on another strand than the connection.
class HttpEndpoint::Conversation : public std::enable_shared_from_this<Conversation> {
 public:
  struct Shape {
    Era era = Era::kLegacy;
    std::size_t answers = 1;
    bool is_batch = false;
  };
  Conversation(const asio::any_io_executor& connection, Shape shape)
      : shape_(shape), wake_(connection, asio::steady_timer::time_point::max()) {}

  // May be called from any thread.
  void Say(std::string text) {
    asio::post(wake_.get_executor(), [self = shared_from_this(), text = std::move(text)]() mutable {
      self->unsaid_.push_back(std::move(text));
      self->wake_.cancel();
    });
  }
  void Finish(const Value& id, RpcError error) {
    const Reply reply(std::move(error));
    const int status = StatusOf(reply, shape_.era);
    Finish(ReplyText(id, reply), status);
  }
  // Writes a large reply in the pool.
  static asio::awaitable<void> Finish(std::shared_ptr<Conversation> self,
                                      std::optional<asio::any_io_executor> pool, Value id,
                                      Reply reply) {
    const int status = StatusOf(reply, self->shape_.era);
    const auto* result = std::get_if<Dict>(&reply);
    const std::size_t work = result == nullptr ? 0 : DecodedBytes(*result);
    std::string text = co_await CallAside(std::move(pool), work,
                                          [id = std::move(id), reply = std::move(reply)]() mutable {
                                            return ReplyText(id, std::move(reply));
                                          });
    self->Finish(std::move(text), status);
  }

  // Runs on the connection. Returns when all was answered, or when it ended and the client
  // disconnected. Calls `on_gone` if the client disconnects before that.
  asio::awaitable<void> Answer(net::Exchange& http, std::function<void()> on_gone) {
    co_await asio::this_coro::throw_if_cancelled(false);
    const bool streams = http.request().Accepts("text/event-stream");
    for (;;) {
      while (streams && !gone_ && !unsaid_.empty()) {
        if (!events_) {
          auto opened = co_await net::EventStream::Open(http);
          if (!opened) break;
          events_ = *std::move(opened);
        }
        events_->Post({.name = "message", .data = std::move(unsaid_.front())});
        unsaid_.pop_front();
      }
      unsaid_.clear();
      if (answers_.size() == shape_.answers) break;
      co_await wake_.async_wait(asio::as_tuple(asio::use_awaitable));
      const auto state = co_await asio::this_coro::cancellation_state;
      if (!gone_ && state.cancelled() != asio::cancellation_type::none) {
        gone_ = true;
        co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
        if (on_gone) on_gone();
      }
    }
    if (gone_) co_return;
    if (events_) {
      for (std::string& text : answers_) {
        events_->Post({.name = "message", .data = std::move(text)});
      }
    } else if (shape_.is_batch) {
      co_await Tell(http, net::JsonResponse(200, BatchText(answers_)));
    } else {
      co_await Tell(http, net::JsonResponse(status_, std::move(answers_.front())));
    }
  }

 private:
  void Finish(std::string text, int status) {
    asio::post(wake_.get_executor(),
               [self = shared_from_this(), status, text = std::move(text)]() mutable {
                 self->answers_.push_back(std::move(text));
                 self->status_ = status;
                 self->wake_.cancel();
               });
  }

  const Shape shape_;
  asio::steady_timer wake_;  // Never expires; it is cancelled when there is something to do.
  std::deque<std::string> unsaid_;
  std::vector<std::string> answers_;
  int status_ = 200;  // Of the last answer.
  std::optional<net::EventStream> events_;
  bool gone_ = false;
};

class HttpEndpoint::HttpExchange final : public Exchange {
 public:
  HttpExchange(Caller caller, const Request& request, std::shared_ptr<ClientConnection> connection,
               std::shared_ptr<Conversation> conversation,
               std::shared_ptr<RequestsUnderWay::Underway> underway)
      : Exchange(std::move(caller), request, std::move(connection)),
        conversation_(std::move(conversation)),
        underway_(std::move(underway)) {}

  bool is_unwanted() const override { return underway_->unwanted; }

  // The client disconnected, so nobody can answer a question any more.
  void OnGone() {
    gone_ = true;
    if (is_asking()) underway_->stop.Request();
  }

 protected:
  void Send(std::string text, Delivery) override { conversation_->Say(std::move(text)); }
  bool is_reachable() const override { return !gone_; }

 private:
  bool gone_ = false;
  const std::shared_ptr<Conversation> conversation_;  // Shared with the connection.
  const std::shared_ptr<RequestsUnderWay::Underway> underway_;
};

HttpEndpoint::HttpEndpoint(const Server& server, const IdentityResolver& resolver,
                           asio::any_io_executor io, HttpEndpointOptions options)
    : server_(server),
      resolver_(resolver),
      options_(std::move(options)),
      sessions_(std::move(io)) {}

void HttpEndpoint::Mount(net::Router& router) {
  const net::Screen screen = [this](net::Request& head) { return Identify(head); };
  router.Add("POST", options_.path, [this](net::Exchange& http) { return Post(http); },
             {.max_body_bytes = kMaxBodyBytes, .screen = screen});
  router.Add("DELETE", options_.path,
             net::Answering([this](net::Request request) { return Delete(std::move(request)); }),
             {.screen = screen});
  if (server_.changes().can_happen()) {
    router.Add("GET", options_.path, [this](net::Exchange& http) { return Get(http); },
               {.screen = screen});
  }
  if (!options_.tells_metadata) return;
  for (const std::string& path :
       {std::string(kMetadataPath), std::string(kMetadataPath) + options_.path}) {
    router.Add("GET", path, net::Answering([this](net::Request request) {
                 return Metadata(std::move(request));
               }));
  }
}

asio::awaitable<std::optional<net::Response>> HttpEndpoint::Identify(net::Request& request) const {
  const auto identity = co_await resolver_.Resolve(OriginOf(request));
  if (identity) {
    Principal principal{.owner = IsolationKey(*identity)};
    if (options_.caller_host != nullptr) {
      principal.caller = std::make_shared<const CallerContext>(
          RemoteCaller(*options_.caller_host, *identity, "mcp"));
    }
    request.account = principal.owner.str();
    request.caller = std::move(principal);
    co_return std::nullopt;
  }
  net::Response refusal = net::ToResponse({.status = 401, .detail = "this needs a bearer token"});
  std::string challenge = "Bearer";
  if (options_.tells_metadata) {
    challenge.append(" resource_metadata=\"" + BaseUrl(request) + std::string(kMetadataPath) +
                     options_.path + "\"");
  }
  refusal.headers.Add("WWW-Authenticate", std::move(challenge));
  co_return refusal;
}

asio::awaitable<void> HttpEndpoint::Post(net::Exchange& http) {
  net::Request& request = http.request();
  const Principal principal = PrincipalOf(request);
  // A page cannot send this type to another site without a preflight.
  if (!IsJson(request)) {
    co_return co_await Tell(http,
                            net::ToResponse({.status = 415, .detail = "send application/json"}));
  }
  Batch batch = co_await CallAside(options_.cpu_pool, request.body.size(),
                                   [&] { return ReadBatch(request.body); });
  if (batch.is_array) {
    co_return co_await TakeBatch(std::move(batch), principal, http);
  }
  Message message = std::move(batch.messages.front());
  if (auto* bad = std::get_if<BadMessage>(&message)) {
    co_return co_await Tell(http, ErrorResponse(400, bad->id, std::move(bad->error)));
  }
  static const Dict kNoParams;
  const auto* asked = std::get_if<Request>(&message);
  const auto* told = std::get_if<Notification>(&message);
  const Dict& params = asked != nullptr  ? asked->params
                       : told != nullptr ? told->params
                                         : kNoParams;
  if (IsModern(params, request.headers)) {
    co_await TakeModern(std::move(message), principal, http);
  } else {
    co_await TakeLegacy(std::move(message), principal, http);
  }
}

asio::awaitable<void> HttpEndpoint::TakeModern(Message message, Principal principal,
                                               net::Exchange& http) {
  auto* request = std::get_if<Request>(&message);
  if (request == nullptr) {
    // Notifications have no effect here and need no answer.
    co_return co_await Tell(http, Accepted());
  }
  auto caller = CheckedCaller(*request, http.request().headers, principal);
  if (auto* error = std::get_if<RpcError>(&caller)) {
    co_return co_await Tell(http, ErrorResponse(400, request->id, std::move(*error)));
  }
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  const auto conversation =
      std::make_shared<Conversation>(executor, Conversation::Shape{.era = Era::kModern});
  const auto underway = std::make_shared<RequestsUnderWay::Underway>(Stop(executor));
  HttpExchange exchange(std::get<Caller>(std::move(caller)), *request, nullptr, conversation,
                        underway);
  const auto work = [&]() -> asio::awaitable<void> {
    co_await asio::this_coro::throw_if_cancelled(false);
    Reply reply = co_await server_.Handle(*request, exchange);
    co_await Conversation::Finish(conversation, options_.cpu_pool, request->id, std::move(reply));
  };
  Spawn(underway->stop, work());
  co_await conversation->Answer(http, [&] {
    underway->unwanted = true;
    underway->stop.Request();
  });
}

asio::awaitable<void> HttpEndpoint::TakeInitialize(Request request, Principal principal,
                                                   net::Exchange& http) {
  const auto begun = sessions_.Begin(principal);
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  const auto conversation = std::make_shared<Conversation>(executor, Conversation::Shape());
  HttpExchange exchange(begun.session->connection->LegacyCaller(), request,
                        begun.session->connection, conversation,
                        std::make_shared<RequestsUnderWay::Underway>(Stop(executor)));
  // Nobody else knows the session yet, so its strand is not needed.
  Reply reply = co_await server_.Handle(request, exchange);
  if (std::holds_alternative<RpcError>(reply)) sessions_.End(principal.owner, begun.id);
  net::Response response = net::JsonResponse(200, ReplyText(request.id, std::move(reply)));
  response.headers.Add(std::string(kSessionHeader), begun.id);
  co_await Tell(http, std::move(response));
}

asio::awaitable<void> HttpEndpoint::TakeLegacy(Message message, Principal principal,
                                               net::Exchange& http) {
  auto* request = std::get_if<Request>(&message);
  if (request != nullptr && request->method == "initialize") {
    co_await TakeInitialize(std::move(*request), std::move(principal), http);
    co_return;
  }
  const auto found = SessionOf(http.request(), principal.owner);
  if (const auto* refusal = std::get_if<net::Response>(&found)) {
    co_return co_await Tell(http, *refusal);
  }
  const auto& session = std::get<std::shared_ptr<HttpSession>>(found);
  if (request == nullptr) {
    Deliver(std::move(message), session);
    co_return co_await Tell(http, Accepted());
  }
  std::vector<Request> requests;
  requests.push_back(std::move(*request));
  co_await AnswerInSession(
      std::move(requests), session,
      std::make_shared<Conversation>(co_await asio::this_coro::executor, Conversation::Shape()),
      http);
}

asio::awaitable<void> HttpEndpoint::TakeBatch(Batch batch, Principal principal,
                                              net::Exchange& http) {
  const auto found = SessionOf(http.request(), principal.owner);
  if (const auto* refusal = std::get_if<net::Response>(&found)) {
    co_return co_await Tell(http, *refusal);
  }
  const auto& session = std::get<std::shared_ptr<HttpSession>>(found);
  if (session->connection->version != kBatchVersion) {
    co_return co_await Tell(http, ErrorResponse(400, {}, NoBatches()));
  }
  std::vector<Request> requests;
  std::vector<BadMessage> bad;
  for (Message& message : batch.messages) {
    if (auto* request = std::get_if<Request>(&message)) {
      requests.push_back(std::move(*request));
    } else if (auto* wrong = std::get_if<BadMessage>(&message)) {
      bad.push_back(std::move(*wrong));
    } else {
      Deliver(std::move(message), session);
    }
  }
  if (requests.empty() && bad.empty()) co_return co_await Tell(http, Accepted());
  const auto conversation = std::make_shared<Conversation>(
      co_await asio::this_coro::executor,
      Conversation::Shape{.answers = requests.size() + bad.size(), .is_batch = true});
  for (BadMessage& each : bad) conversation->Finish(each.id, std::move(each.error));
  co_await AnswerInSession(std::move(requests), session, conversation, http);
}

std::variant<std::shared_ptr<HttpSession>, net::Response> HttpEndpoint::SessionOf(
    const net::Request& request, const IsolationKey& owner) {
  const std::string* id = request.headers.Find(kSessionHeader);
  if (id == nullptr) {
    return net::ToResponse(
        {.status = 400,
         .detail = "send initialize first, then the Mcp-Session-Id that it returns"});
  }
  if (auto session = sessions_.Find(owner, *id)) return session;
  return net::ToResponse({.status = 404, .detail = "there is no such session"});
}

// The session's requests run on its strand. If the client disconnects, a request continues, as this
// era requires, and this coroutine waits for it.
asio::awaitable<void> HttpEndpoint::AnswerInSession(std::vector<Request> requests,
                                                    std::shared_ptr<HttpSession> session,
                                                    std::shared_ptr<Conversation> conversation,
                                                    net::Exchange& http) {
  std::vector<std::shared_ptr<HttpExchange>> exchanges;
  for (Request& request : requests) {
    const auto underway = std::make_shared<RequestsUnderWay::Underway>(Stop(session->strand));
    const auto exchange = std::make_shared<HttpExchange>(
        session->connection->LegacyCaller(), request, session->connection, conversation, underway);
    exchanges.push_back(exchange);
    Spawn(underway->stop,
          WorkInSession(std::move(request), session, exchange, conversation, underway));
  }
  co_await conversation->Answer(http, [session, exchanges] {
    asio::post(session->strand, [exchanges] {
      for (const auto& exchange : exchanges) exchange->OnGone();
    });
  });
}

asio::awaitable<void> HttpEndpoint::WorkInSession(
    Request request, std::shared_ptr<HttpSession> session, std::shared_ptr<HttpExchange> exchange,
    std::shared_ptr<Conversation> conversation,
    std::shared_ptr<RequestsUnderWay::Underway> underway) const {
  co_await asio::this_coro::throw_if_cancelled(false);
  RequestsUnderWay& requests = session->connection->requests;
  if (requests.size() >= kMaxRequestsPerSession || !requests.Begin(request.id, underway)) {
    conversation->Finish(request.id,
                         RpcError{.code = RpcCode::kInvalidRequest,
                                  .message = "too many requests are running, or one with this id"});
    co_return;
  }
  Reply reply = co_await server_.Handle(request, *exchange);
  requests.End(request.id);
  co_await Conversation::Finish(conversation, options_.cpu_pool, std::move(request.id),
                                std::move(reply));
}

// Opens the stream for notifications to a session's client.
asio::awaitable<void> HttpEndpoint::Get(net::Exchange& http) {
  const Principal principal = PrincipalOf(http.request());
  if (!http.request().Accepts("text/event-stream")) {
    co_return co_await Tell(
        http, net::ToResponse({.status = 406, .detail = "this is a text/event-stream"}));
  }
  const auto found = SessionOf(http.request(), principal.owner);
  if (const auto* refusal = std::get_if<net::Response>(&found)) {
    co_return co_await Tell(http, *refusal);
  }
  const auto& session = std::get<std::shared_ptr<HttpSession>>(found);
  const auto place = server_.changes().TakePlace(principal.owner);
  if (place == nullptr) {
    co_return co_await Tell(
        http,
        net::ToResponse({.status = 429, .detail = "too many open subscriptions; close one first"}));
  }
  // Each notification is sent once, so a session has one stream.
  if (session->listening.exchange(true)) {
    co_return co_await Tell(
        http,
        net::ToResponse({.status = 409, .detail = "this session already has an open stream"}));
  }
  if (auto events = co_await net::EventStream::Open(http)) {
    co_await server_.changes().Tell(session->connection->LegacyCaller(), [&] {
      events->Post({.name = "message", .data = NotificationText(kToolsChanged, {})});
    });
  }
  session->listening = false;
}

asio::awaitable<net::Response> HttpEndpoint::Delete(net::Request request) {
  const std::string* id = request.headers.Find(kSessionHeader);
  if (id == nullptr) {
    co_return net::ToResponse({.status = 400, .detail = "Mcp-Session-Id is missing"});
  }
  if (sessions_.End(PrincipalOf(request).owner, *id)) co_return net::Response{.status = 204};
  co_return net::ToResponse({.status = 404, .detail = "there is no such session"});
}

asio::awaitable<net::Response> HttpEndpoint::Metadata(net::Request request) const {
  Dict fields = Object({{"resource", BaseUrl(request) + options_.path}});
  if (!options_.authorization_servers.empty()) {
    List servers;
    for (const std::string& server : options_.authorization_servers)
      servers.items.emplace_back(server);
    Append(fields, "authorization_servers", std::move(servers));
  }
  Append(fields, "bearer_methods_supported", List{{Value("header")}});
  co_return net::JsonResponse(200, *ToJson(Value(std::move(fields))));
}

}  // namespace caisson::mcp
