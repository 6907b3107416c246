// A HttpClient sends one request to one server. It resolves the name once, checks every address,
// and connects only to a checked address.
//
// Trust     URLs, DNS and servers are hostile. Received data is bounded, certificates are verified,
//           redirects are not followed here.
// Threads   Send works on the executor of its coroutine, which must be serial. The client itself is
//           shared.
// Lifetime  Must outlive its requests. Cancelling a coroutine ends its request.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/address.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "tools/http/http_rules.h"
#include "tools/http/proxy.h"
#include "tools/http/url.h"

namespace caisson {

namespace asio = boost::asio;

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method;
  HttpUrl url;
  HttpHeaders headers{};  // Names and values must be checked already. Host and length are added.
  std::string body{};
};

struct HttpResponse {
  int status = 0;
  HttpHeaders headers{};  // Names in lower case.
  std::string body{};
};

// Receives the pieces of an answer's body, each once; the response that Send returns then has no
// body. kUnwanted: ends the request successfully.
enum class Rest { kWanted, kUnwanted };
using BodySink = std::function<Rest(const HttpResponse& head, std::string_view piece)>;

using Resolver =
    std::function<asio::awaitable<Result<std::vector<asio::ip::address>>>(std::string host)>;

// The system's resolver, on a thread of `pool`.
Resolver SystemResolver(asio::any_io_executor pool);

// Zero: no limit.
struct HttpTimes {
  std::chrono::milliseconds connect = std::chrono::seconds(60);  // With DNS, proxy and TLS.
  std::chrono::milliseconds first_byte{0};                       // From the request on.
  std::chrono::milliseconds idle{0};                             // Between two pieces.
};

struct HttpClientOptions {
  Resolver resolver;
  HttpTimes times{};
  std::optional<HttpProxy> proxy{};  // For PrivateHosts::kAllow; it resolves the names itself.
  std::size_t max_response_bytes = 4u << 20;
  std::string certificates{};  // A PEM file to trust instead of the system's.
};

class HttpClient {
 public:
  static Result<std::unique_ptr<HttpClient>> Make(HttpClientOptions options);
  ~HttpClient();

  // Fails with
  //   kUnavailable         no connection, no valid certificate, or an answer that ended early
  //   kDeadlineExceeded    connected, and a limit of HttpTimes has passed
  //   kPermissionDenied    the address is not allowed
  //   kResourceExhausted   the answer is too long
  //   kCancelled           the coroutine was cancelled
  asio::awaitable<Result<HttpResponse>> Send(HttpRequest request, PrivateHosts private_hosts,
                                             BodySink sink = {}) const;

 private:
  class Exchange;
  struct Tls;
  HttpClient(HttpClientOptions options, std::unique_ptr<Tls> tls);

  const HttpClientOptions options_;
  const std::unique_ptr<Tls> tls_;
};

}  // namespace caisson
