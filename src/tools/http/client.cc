#include "tools/http/client.h"

#include <algorithm>
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/system/system_error.hpp>
#include <chrono>
#include <optional>

#include "base/run_on.h"
#include "tools/http/address.h"

namespace caisson {
namespace {

namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

constexpr auto kConnectTimeout = std::chrono::seconds(10);
constexpr std::chrono::milliseconds kNoLimit{0};
constexpr std::uint32_t kMaxHeaderBytes = 64u << 10;
constexpr int kMaxInterim = 5;  // Answers such as "100 Continue" before the final one.
constexpr auto kQuietly = asio::as_tuple(asio::use_awaitable);

Error Unreachable(std::string message) {
  return Error(ErrorCode::kUnavailable, std::move(message));
}

std::string Lowered(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::string Wire(const HttpRequest& request) {
  std::string text = request.method + " " + request.url.path + request.url.query + " HTTP/1.1\r\n";
  const auto put = [&](std::string_view name, std::string_view value) {
    text.append(name).append(": ").append(value).append("\r\n");
  };
  put("Host", request.url.Authority());
  for (const auto& [name, value] : request.headers) put(name, value);
  put("Accept-Encoding", "identity");
  put("Connection", "close");
  if (!request.body.empty() || request.method == "POST" || request.method == "PUT") {
    put("Content-Length", std::to_string(request.body.size()));
  }
  return text + "\r\n" + request.body;
}

}  // namespace

struct HttpClient::Tls {
  asio::ssl::context context{asio::ssl::context::tls_client};
};

// One current request.
class HttpClient::Exchange {
 public:
  Exchange(const HttpClient& client, HttpRequest request, PrivateHosts private_hosts, BodySink sink,
           const asio::any_io_executor& executor)
      : client_(client),
        request_(std::move(request)),
        private_hosts_(private_hosts),
        sink_(std::move(sink)),
        proxy_(ProxyFor(client, request_, private_hosts)),
        socket_(executor),
        timer_(executor),
        watch_(executor) {}

  asio::awaitable<Result<HttpResponse>> Run() {
    Expect(Phase::kConnect, times().connect);
    auto done = co_await Race(Talk(), Watch());
    if (done) co_return *std::move(done);
    co_return Overdue();
  }

 private:
  enum class Phase { kConnect, kFirstByte, kIdle };

  const HttpTimes& times() const { return client_.options_.times; }

  static const HttpProxy* ProxyFor(const HttpClient& client, const HttpRequest& request,
                                   PrivateHosts private_hosts) {
    // A proxy resolves names itself, so the addresses behind it cannot be checked.
    const auto& proxy = client.options_.proxy;
    const bool is_used =
        proxy && private_hosts == PrivateHosts::kAllow && proxy->Serves(request.url);
    return is_used ? &*proxy : nullptr;
  }

  // Begins the time of a phase.
  void Expect(Phase phase, std::chrono::milliseconds time) {
    phase_ = phase;
    const auto now = std::chrono::steady_clock::now();
    deadline_ = time == kNoLimit ? std::chrono::steady_clock::time_point::max() : now + time;
    if (deadline_ < watch_.expiry()) watch_.cancel();  // Wakes Watch, which waits too long.
  }

  // Returns when the deadline has passed. Later deadlines cost no change of the timer.
  asio::awaitable<void> Watch() {
    while (deadline_ > std::chrono::steady_clock::now()) {
      watch_.expires_at(deadline_);
      co_await watch_.async_wait(kQuietly);
    }
  }

  Error Overdue() const {
    const auto within = [](std::chrono::milliseconds time) {
      return " within " + std::to_string(time.count()) + " ms";
    };
    const std::string server = request_.url.Authority();
    switch (phase_) {
      case Phase::kConnect:
        return Unreachable("no connection to " + server + within(times().connect));
      case Phase::kFirstByte:
        return Error(ErrorCode::kDeadlineExceeded,
                     server + " sent no answer" + within(times().first_byte));
      case Phase::kIdle:
        break;
    }
    return Error(ErrorCode::kDeadlineExceeded,
                 server + " sent nothing more of its answer" + within(times().idle));
  }

  asio::awaitable<Result<HttpResponse>> Talk() {
    auto addresses = co_await Addresses();
    if (!addresses) co_return std::move(addresses).error();
    if (auto connected = co_await Connect(*addresses); !connected) {
      co_return std::move(connected).error();
    }
    if (proxy_ != nullptr) {
      if (auto opened = co_await PassProxy(); !opened) co_return std::move(opened).error();
    }
    if (!request_.url.secure) co_return co_await Talk(socket_);
    asio::ssl::stream<tcp::socket&> stream(socket_, client_.tls_->context);
    if (auto secured = co_await Secure(stream); !secured) co_return std::move(secured).error();
    co_return co_await Talk(stream);
  }

  // The server to connect to.
  const HttpUrl& Peer() const { return proxy_ == nullptr ? request_.url : proxy_->address(); }

  asio::awaitable<Result<std::vector<asio::ip::address>>> Addresses() {
    error_code no_literal;
    const auto literal = asio::ip::make_address(Peer().host, no_literal);
    std::vector<asio::ip::address> addresses = {literal};
    if (no_literal) {
      auto resolved = co_await client_.options_.resolver(Peer().host);
      if (!resolved) co_return std::move(resolved).error();
      addresses = *std::move(resolved);
    }
    if (private_hosts_ == PrivateHosts::kOnly &&
        !std::ranges::all_of(addresses, IsPrivateAddress)) {
      co_return Error(ErrorCode::kPermissionDenied,
                      "the host " + request_.url.host +
                          " has an address that is not private; use https for it");
    }
    // One bad address among good ones is refused too, because the choice between them must not be
    // left to chance.
    const bool all_public = std::ranges::all_of(addresses, IsPublicAddress);
    if (!all_public && private_hosts_ == PrivateHosts::kRefuse) {
      co_return Error(ErrorCode::kPermissionDenied,
                      "the host " + request_.url.host + " has an address that is not public");
    }
    co_return addresses;
  }

  asio::awaitable<Result<void>> Connect(std::vector<asio::ip::address> addresses) {
    error_code last = asio::error::timed_out;
    for (const auto& address : addresses) {
      timer_.expires_after(kConnectTimeout);
      error_code ignored;
      socket_.close(ignored);  // Closes the previous attempt.
      const auto connected = co_await Race(socket_.async_connect({address, Peer().port}, kQuietly),
                                           timer_.async_wait(kQuietly));
      if (!connected) continue;
      last = std::get<0>(*connected);
      if (!last) co_return Result<void>();
    }
    co_return Unreachable("no connection to " + Peer().Authority() + ": " + last.message());
  }

  // Asks the proxy for a connection to the server.
  asio::awaitable<Result<void>> PassProxy() {
    const std::string text = proxy_->ConnectRequest(request_.url);
    const auto [failed, sent] = co_await asio::async_write(socket_, asio::buffer(text), kQuietly);
    if (failed) co_return Unreachable("cannot ask the proxy: " + failed.message());
    http::response_parser<http::empty_body> parser;
    parser.skip(true);
    parser.header_limit(kMaxHeaderBytes);
    std::string unread;
    std::array<char, 4096> buffer;
    while (!parser.is_header_done()) {
      const auto [broken, got] = co_await socket_.async_read_some(asio::buffer(buffer), kQuietly);
      if (broken) co_return Unreachable("the proxy closed the connection: " + broken.message());
      unread.append(buffer.data(), got);
      error_code error;
      unread.erase(0, parser.put(asio::buffer(unread), error));
      if (error == http::error::need_more) error = {};
      if (error) co_return Unreachable("the proxy's answer is not valid HTTP: " + error.message());
    }
    const unsigned status = parser.get().result_int();
    if (status == 407) {
      co_return Error(ErrorCode::kPermissionDenied,
                      "the proxy " + Peer().Authority() +
                          " asks for another user or password; check HTTPS_PROXY");
    }
    if (status / 100 != 2) {
      co_return Unreachable("the proxy " + Peer().Authority() + " does not connect to " +
                            request_.url.Authority() + " (status " + std::to_string(status) + ")");
    }
    // Bytes that came before the handshake are not the server's.
    if (!unread.empty()) co_return Unreachable("the proxy sent more than an answer");
    co_return Result<void>();
  }

  asio::awaitable<Result<void>> Secure(asio::ssl::stream<tcp::socket&>& stream) {
    const std::string& host = request_.url.host;
    error_code no_literal;
    asio::ip::make_address(host, no_literal);
    error_code error;
    stream.set_verify_callback(asio::ssl::host_name_verification(host), error);
    const bool named =
        !no_literal || SSL_set_tlsext_host_name(stream.native_handle(), host.c_str());
    if (error || !named) co_return Error(ErrorCode::kInternal, "set up TLS");
    const auto [failed] = co_await stream.async_handshake(asio::ssl::stream_base::client, kQuietly);
    if (failed) co_return Unreachable("no TLS with " + host + ": " + failed.message());
    co_return Result<void>();
  }

  template <typename Stream>
  asio::awaitable<Result<HttpResponse>> Talk(Stream& stream) {
    const std::string text = Wire(request_);
    Expect(Phase::kFirstByte, times().first_byte);
    const auto [failed, sent] = co_await asio::async_write(stream, asio::buffer(text), kQuietly);
    if (failed) co_return Unreachable("cannot send the request: " + failed.message());
    std::string unread;
    for (int i = 0; i < kMaxInterim; ++i) {
      http::response_parser<http::string_body> parser;
      parser.eager(true);
      parser.skip(request_.method == "HEAD");
      parser.header_limit(kMaxHeaderBytes);
      parser.body_limit(client_.options_.max_response_bytes);
      if (auto read = co_await Receive(stream, parser, unread); !read) {
        co_return std::move(read).error();
      }
      if (parser.get().result_int() >= 200) co_return Response(parser.get());
    }
    co_return Unreachable("the server sent too many interim answers");
  }

  // Reads one answer; later bytes stay in `unread`.
  template <typename Stream, typename Parser>
  asio::awaitable<Result<void>> Receive(Stream& stream, Parser& parser, std::string& unread) {
    std::array<char, 16384> buffer;
    for (;;) {
      error_code error;
      const std::size_t used = parser.put(asio::buffer(unread), error);
      unread.erase(0, used);
      if (error == http::error::need_more) error = {};
      if (error == http::error::body_limit) co_return TooLong();
      if (error) co_return Unreachable("the answer is not valid HTTP: " + error.message());
      if (parser.is_header_done() && Pour(parser.get()) == Rest::kUnwanted) {
        co_return Result<void>();
      }
      if (parser.is_done()) co_return Result<void>();
      if (unread.size() > kMaxHeaderBytes) co_return TooLong();
      const auto [failed, got] = co_await stream.async_read_some(asio::buffer(buffer), kQuietly);
      if (failed == asio::error::eof && parser.is_header_done()) {
        parser.put_eof(error);
        if (!error && parser.is_done()) co_return Result<void>();
      }
      if (failed) co_return Unreachable("the answer ended early: " + failed.message());
      Expect(Phase::kIdle, times().idle);
      unread.append(buffer.data(), got);
    }
  }

  // Passes the received part of the body to its consumer.
  Rest Pour(http::response<http::string_body>& message) {
    if (!sink_ || message.body().empty()) return Rest::kWanted;
    const std::string piece = std::exchange(message.body(), {});
    return sink_(Response(message), piece);
  }

  Error TooLong() const {
    return Error(ErrorCode::kResourceExhausted,
                 "the answer is longer than " +
                     std::to_string(client_.options_.max_response_bytes) + " bytes");
  }

  static HttpResponse Response(http::response<http::string_body>& message) {
    HttpResponse response{.status = static_cast<int>(message.result_int()),
                          .body = std::move(message.body())};
    for (const auto& field : message) {
      response.headers.emplace_back(Lowered(field.name_string()), std::string(field.value()));
    }
    return response;
  }

  const HttpClient& client_;
  const HttpRequest request_;
  const PrivateHosts private_hosts_;
  const BodySink sink_;
  const HttpProxy* const proxy_;  // Null: none.
  tcp::socket socket_;
  asio::steady_timer timer_;
  asio::steady_timer watch_;
  Phase phase_ = Phase::kConnect;
  std::chrono::steady_clock::time_point deadline_;
};

HttpClient::HttpClient(HttpClientOptions options, std::unique_ptr<Tls> tls)
    : options_(std::move(options)), tls_(std::move(tls)) {}

HttpClient::~HttpClient() = default;

Result<std::unique_ptr<HttpClient>> HttpClient::Make(HttpClientOptions options) {
  auto tls = std::make_unique<Tls>();
  error_code error;
  tls->context.set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_tlsv1 |
                               asio::ssl::context::no_tlsv1_1,
                           error);
  if (!error) tls->context.set_verify_mode(asio::ssl::verify_peer, error);
  if (!error) {
    options.certificates.empty() ? tls->context.set_default_verify_paths(error)
                                 : tls->context.load_verify_file(options.certificates, error);
  }
  if (error) return Error(ErrorCode::kFailedPrecondition, "set up TLS: " + error.message());
  return std::unique_ptr<HttpClient>(new HttpClient(std::move(options), std::move(tls)));
}

asio::awaitable<Result<HttpResponse>> HttpClient::Send(HttpRequest request,
                                                       PrivateHosts private_hosts,
                                                       BodySink sink) const {
  Exchange exchange(*this, std::move(request), private_hosts, std::move(sink),
                    co_await asio::this_coro::executor);
  try {
    co_return co_await exchange.Run();
  } catch (const boost::system::system_error&) {
    // Thrown by Asio where a cancelled coroutine would wait.
    co_return Error(ErrorCode::kCancelled, "the request was cancelled");
  }
}

}  // namespace caisson
