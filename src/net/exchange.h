// An Exchange is one request and the way to answer it, once: whole or as a stream.
//
//   asio::awaitable<void> Hello(Exchange& exchange) {
//     co_await exchange.Send(JsonResponse(200, "{}"));
//   }
//   asio::awaitable<void> Count(Exchange& exchange) {
//     auto stream = co_await exchange.Stream({.headers = {{"Content-Type", "text/plain"}}});
//     for (int i = 0; stream && i < 3; ++i) {
//       if (!co_await (*stream)->Write(std::to_string(i))) break;      // The client has gone.
//     }
//   }
//
// A handler that only computes an answer is a function from Request to Response; Answering() makes it a Handler.
//
// When the client goes away, the handler's coroutine is cancelled. One that must go on all the same says so:
// co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation()).
//
// Trust     The request is hostile. What a handler sends goes out as it is; header values with control characters
//           turn the answer into a 500.
// Threads   A handler runs on its connection's own strand and must not block it. BodyStream::Post from anywhere.
// Lifetime  An Exchange lives until its handler returns. A BodyStream may be kept longer, to no effect.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/message.h"

namespace caisson::net {

// A body on its way. It is complete when the handler returns; if the handler throws, it is cut so that the client can
// tell.
class BodyStream {
 public:
  virtual ~BodyStream() = default;

  // Returns when the client's connection has room for more. kUnavailable: the client has gone.
  virtual asio::awaitable<Result<void>> Write(std::string bytes) = 0;
  // For who cannot wait, from any thread. A client that lets too much pile up is cut off.
  virtual void Post(std::string bytes) = 0;
};

struct StreamOptions {
  // Sent whenever nothing else was for a while, so that nobody in between gives the connection up.
  std::string keep_alive{};
  std::chrono::steady_clock::duration keep_alive_interval = std::chrono::seconds(15);
};

class Exchange {
 public:
  virtual ~Exchange() = default;

  virtual Request& request() = 0;

  // At most one of the two, once; the second is kFailedPrecondition. kUnavailable: the client has gone.
  virtual asio::awaitable<Result<void>> Send(Response response) = 0;
  // `head` without a body.
  virtual asio::awaitable<Result<std::shared_ptr<BodyStream>>> Stream(
      Response head, StreamOptions options = {}) = 0;
};

using Handler = std::function<asio::awaitable<void>(Exchange& exchange)>;

Handler Answering(std::function<asio::awaitable<Response>(Request request)> answer);

}  // namespace caisson::net
