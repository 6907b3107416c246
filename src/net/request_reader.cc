#include "net/request_reader.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/system/errc.hpp>
#include <utility>

namespace caisson::net {
namespace {

namespace http = boost::beast::http;
using boost::system::error_code;
using Phase = TabledConnection::Phase;

constexpr auto kQuietly = asio::as_tuple(asio::use_awaitable);

Refusal Refused(int status, std::string detail) {
  Refusal refusal{.response = ToResponse({.status = status, .detail = std::move(detail)})};
  if (status == 503) refusal.response.headers.Add("Retry-After", "1");
  return refusal;
}

bool HasEnded(const error_code& error) {
  return error == http::error::end_of_stream || error == http::error::partial_message ||
         error == asio::error::eof || error == asio::error::connection_reset;
}

Refusal Unreadable(const error_code& error) {
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    return Refused(431, "the head of the request is too long");
  }
  if (error == http::error::body_limit) return Refused(413, "the body is too long");
  if (error == http::error::bad_version) {
    return Refused(505, "this server speaks HTTP/1.1");
  }
  return Refused(400, "the request is not valid HTTP/1.1: " + error.message());
}

std::string Text(boost::beast::string_view text) {
  return std::string(text);
}

// A Beast body that takes memory as bytes arrive. Beast's string_body reserves the announced
// length.
struct ArrivingBody {
  struct value_type {
    std::string text{};
    BodyBudget::Share share{};
    BodyBudget::Grown grown = BodyBudget::Grown::kYes;  // The reason, if reading was stopped.
  };

  class reader {
   public:
    template <bool is_request, class Fields>
    reader(http::header<is_request, Fields>&, value_type& body) : body_(body) {}

    void init(const boost::optional<std::uint64_t>&, error_code& error) { error = {}; }

    template <class Buffers>
    std::size_t put(const Buffers& buffers, error_code& error) {
      const std::size_t bytes = asio::buffer_size(buffers);
      body_.grown = body_.share.Grow(bytes);
      if (body_.grown != BodyBudget::Grown::kYes) {
        error = boost::system::errc::make_error_code(boost::system::errc::not_enough_memory);
        return 0;
      }
      for (const auto& piece : boost::beast::buffers_range_ref(buffers)) {
        body_.text.append(static_cast<const char*>(piece.data()), piece.size());
      }
      error = {};
      return bytes;
    }

    void finish(error_code& error) { error = {}; }

   private:
    value_type& body_;
  };
};

}  // namespace

struct RequestReader::Head {
  http::request_parser<ArrivingBody> parser{};
  Incoming incoming{};

  // If the request has no body, the connection can be kept.
  Refusal Refused(Response response) const {
    const bool has_body = parser.chunked() || parser.content_length().value_or(0) > 0;
    return {.response = std::move(response),
            .keep_alive = has_body ? KeepAlive::kNo : incoming.keep_alive};
  }
};

void RequestReader::Enter(TabledConnection::Phase phase) {
  since_ = std::chrono::steady_clock::now().time_since_epoch();
  phase_ = phase;
}

asio::awaitable<bool> RequestReader::AwaitFirstByte() {
  if (std::exchange(first_, false)) co_return true;
  if (peer_->unread().size() == 0) {
    Enter(Phase::kIdle);
    peer_->ExpectWithin(options_.idle_time);
    const auto [error] =
        co_await peer_->socket().async_wait(asio::ip::tcp::socket::wait_read, kQuietly);
    if (error) co_return false;
  }
  Enter(Phase::kHead);
  co_return true;
}

asio::awaitable<RequestReader::Next> RequestReader::Read() {
  if (!co_await AwaitFirstByte()) co_return Ended{};
  Head head;
  head.parser.header_limit(static_cast<std::uint32_t>(options_.max_head_bytes));
  head.parser.body_limit(boost::none);  // The limit of the route applies once the route is known.
  peer_->ExpectWithin(options_.head_time);
  const auto [error, bytes] =
      co_await http::async_read_header(peer_->socket(), peer_->unread(), head.parser, kQuietly);
  peer_->StopExpecting();
  if (peer_->patience_lost()) co_return Refused(408, "the head of the request took too long");
  if (HasEnded(error) || error == asio::error::operation_aborted) co_return Ended{};
  if (error) co_return Unreadable(error);
  auto refusal = Judge(head);
  if (!refusal) refusal = co_await Screened(head);
  if (!refusal && !peer_->gone()) {
    Enter(Phase::kServed);
    refusal = co_await ReadBody(head);
    const AdaptRefusal& adapt = head.incoming.route->options.adapt_refusal;
    if (refusal && adapt) adapt(head.incoming.request, refusal->response);
  }
  if (peer_->gone()) co_return Ended{};
  if (refusal) {
    refusal->method = Text(head.parser.get().method_string());
    refusal->sharing = SharingHeaders(options_.access, head.incoming.request.headers);
    co_return *std::move(refusal);
  }
  co_return std::move(head.incoming);
}

std::optional<Refusal> RequestReader::JudgeFraming(const Head& head) const {
  const Headers& headers = head.incoming.request.headers;
  const std::string* coding = headers.Find("Transfer-Encoding");
  if (coding != nullptr) {
    // Beast treats a request with any other coding as one without a body, and its body as the next
    // request.
    const bool chunked =
        headers.Count("Transfer-Encoding") == 1 && EqualsIgnoringCase(*coding, "chunked");
    if (!chunked) return Refused(501, "the only supported transfer coding is chunked");
    if (head.incoming.version < 11) return Refused(400, "HTTP/1.0 has no transfer codings");
    if (headers.Find("Content-Length") != nullptr) {
      return Refused(400, "a body has a length or is chunked, not both");
    }
  }
  // Beast reads "5, 5" as 5, and accepts the same length twice.
  const std::string* length = headers.Find("Content-Length");
  if (length != nullptr && (headers.Count("Content-Length") > 1 ||
                            length->find_first_not_of("0123456789") != length->npos)) {
    return Refused(400, "Content-Length must be one number");
  }
  const std::size_t hosts = headers.Count("Host");
  if (hosts > 1 || (hosts == 0 && head.incoming.version >= 11)) {
    return Refused(400, "a request must have exactly one Host");
  }
  const std::string* expected = headers.Find("Expect");
  if (expected != nullptr && !EqualsIgnoringCase(*expected, "100-continue")) {
    return Refused(417, "the only supported expectation is 100-continue");
  }
  return std::nullopt;
}

std::optional<Refusal> RequestReader::Judge(Head& head) const {
  const auto& message = head.parser.get();
  Incoming& incoming = head.incoming;
  incoming.version = message.version();
  incoming.keep_alive = head.parser.keep_alive() ? KeepAlive::kYes : KeepAlive::kNo;
  Request& request = incoming.request;
  request.method = Text(message.method_string());
  request.peer = peer_->address();
  for (const auto& field : message) {
    request.headers.Add(Text(field.name_string()), Text(field.value()));
  }
  if (auto refusal = JudgeFraming(head)) return refusal;
  const auto refuse = [&](Response response) { return head.Refused(std::move(response)); };
  if (auto problem = Refuses(options_.access, request.headers)) return refuse(ToResponse(*problem));
  if (auto answer = Preflight(options_.access, request.method, request.headers)) {
    return refuse(*std::move(answer));
  }
  return JudgeRoute(head);
}

std::optional<Refusal> RequestReader::JudgeRoute(Head& head) const {
  const auto refuse = [&](Response response) { return head.Refused(std::move(response)); };
  Incoming& incoming = head.incoming;
  Request& request = incoming.request;
  const std::string text = Text(head.parser.get().target());
  auto target = ParseTarget(text);
  if (!target) return refuse(ToResponse({.status = 400, .detail = target.error().message()}));
  request.path = text.substr(0, text.find('?'));
  Router::Found found = router_.Find(request.method, *target);
  if (const auto* wrong = std::get_if<Router::WrongMethod>(&found)) {
    Response response = ToResponse({.status = 405, .detail = "allowed here: " + wrong->allow});
    response.headers.Add("Allow", wrong->allow);
    return refuse(std::move(response));
  }
  auto* match = std::get_if<Router::Match>(&found);
  if (match == nullptr) return refuse(ToResponse({.status = 404, .detail = "no such path"}));
  incoming.route = match->route;
  if (refusal_ && match->route->options.capacity != Capacity::kReserved) {
    Response response = ToResponse(*refusal_);
    response.headers.Add("Retry-After", "1");
    return Refusal{.response = std::move(response)};
  }
  if (refusal_) incoming.keep_alive = KeepAlive::kNo;  // Others need its place.
  request.parameters = std::move(match->parameters);
  request.query = std::move(target->query);
  return std::nullopt;
}

asio::awaitable<std::optional<Refusal>> RequestReader::Screened(Head& head) const {
  const Screen& screen = head.incoming.route->options.screen;
  if (!screen) co_return std::nullopt;
  auto answer = co_await screen(head.incoming.request);
  if (!answer) co_return std::nullopt;
  co_return head.Refused(*std::move(answer));
}

Refusal RequestReader::BodyRefused(BodyBudget::Grown why) const {
  if (why == BodyBudget::Grown::kAllIsFull) {
    return Refused(503, "the bodies of all requests take " +
                            std::to_string(options_.max_bodies_bytes) +
                            " bytes already; try again later");
  }
  Refusal refusal = Refused(429, "the bodies of your requests take " +
                                     std::to_string(options_.max_bodies_bytes_per_account) +
                                     " bytes already; wait for the answer to one");
  refusal.response.headers.Add("Retry-After", "1");
  return refusal;
}

asio::awaitable<std::optional<Refusal>> RequestReader::ReadBody(Head& head) {
  const std::size_t limit = head.incoming.route->options.max_body_bytes;
  head.parser.body_limit(limit);
  if (head.parser.content_length().value_or(0) > limit) {
    co_return Refused(413, "the body is longer than " + std::to_string(limit) + " bytes");
  }
  if (!head.parser.is_done()) {
    const std::string& account = head.incoming.request.account;
    auto& body = head.parser.get().body();
    body.share = bodies_.Open(account.empty() ? peer_->address().to_string() : account);
    if (head.incoming.request.headers.Find("Expect") != nullptr) {
      peer_->Push("HTTP/1.1 100 Continue\r\n\r\n");
    }
    peer_->ExpectWithin(options_.body_time);
    const auto [error, bytes] =
        co_await http::async_read(peer_->socket(), peer_->unread(), head.parser, kQuietly);
    peer_->StopExpecting();
    if (peer_->patience_lost()) co_return Refused(408, "the body took too long");
    if (HasEnded(error) || error == asio::error::operation_aborted) {
      peer_->CutOff();  // Half a body is not a request.
      co_return std::nullopt;
    }
    if (body.grown != BodyBudget::Grown::kYes) co_return BodyRefused(body.grown);
    if (error) co_return Unreadable(error);
  }
  head.incoming.request.body = std::move(head.parser.get().body().text);
  head.incoming.body_share = std::move(head.parser.get().body().share);
  co_return std::nullopt;
}

}  // namespace caisson::net
