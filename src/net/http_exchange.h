// An Exchange is one request and the means to answer it once: whole or as a stream.
//
//   asio::awaitable<void> Hello(Exchange& exchange) {
//     co_await exchange.Send(JsonResponse(200, "{}"));
//   }
//   asio::awaitable<void> Count(Exchange& exchange) {
//     auto stream = co_await exchange.Stream({.headers = {{"Content-Type", "text/plain"}}});
//     for (int i = 0; stream && i < 3; ++i) {
//       if (!co_await (*stream)->Write(std::to_string(i))) break;      // The client disconnected.
//     }
//   }
//
// A handler that only computes an answer is a function from Request to Response; Answering() makes
// it a Handler.
//
// When the client disconnects, the handler's coroutine is cancelled. A handler that must continue
// calls
//   co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation()).
//
// Trust     The request is hostile. The data that a handler sends goes out unchanged; header values
//           with control characters turn the answer into a 500.
// Threads   A handler runs on its connection's own strand and must not block it. BodyStream::Post
//           may be called from any thread.
// Lifetime  An Exchange lives until its handler returns. A BodyStream may be kept longer but then
//           has no effect.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/http_message.h"

namespace caisson::net {

// A response body that is being sent. It is complete when the handler returns. If the handler
// throws, the body is cut in a way that the client can detect.
class BodyStream {
 public:
  virtual ~BodyStream() = default;

  // Returns when the connection has room for more. Fails with kUnavailable if the client
  // disconnected.
  virtual asio::awaitable<Result<void>> Write(std::string bytes) = 0;
  // Does not wait; may be called from any thread. If too many bytes queue up, the connection is
  // cut.
  virtual void Post(std::string bytes) = 0;
};

struct StreamOptions {
  // Sent when nothing else was sent for a while, so that proxies do not close the connection.
  std::string keep_alive{};
  std::chrono::steady_clock::duration keep_alive_interval = std::chrono::seconds(15);
};

class Exchange {
 public:
  virtual ~Exchange() = default;

  virtual Request& request() = 0;

  // Call one of the two, once. A second call fails with kFailedPrecondition. Fails with
  // kUnavailable if the client disconnected.
  virtual asio::awaitable<Result<void>> Send(Response response) = 0;
  // `head` has no body.
  virtual asio::awaitable<Result<std::shared_ptr<BodyStream>>> Stream(
      Response head, StreamOptions options = {}) = 0;
};

using Handler = std::function<asio::awaitable<void>(Exchange& exchange)>;

Handler Answering(std::function<asio::awaitable<Response>(Request request)> answer);

}  // namespace caisson::net
