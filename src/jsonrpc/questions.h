// Questions are the requests that this side has sent and that are not answered yet.
//
// Trust     Returned ids are the peer's: an answer counts only for an open question.
// Threads   One serial executor.
// Lifetime  Outlives the coroutines that wait for answers.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "jsonrpc/message.h"

namespace caisson::jsonrpc {

namespace asio = boost::asio;

class Questions {
 public:
  explicit Questions(asio::any_io_executor executor) : executor_(std::move(executor)) {}

  // Calls `send` with the id for the request and waits for the answer. Fails with
  // kFailedPrecondition if the answer is an error, kUnavailable if the peer is gone, kCancelled if
  // the wait was cancelled.
  asio::awaitable<Result<Value>> Ask(std::function<void(const Value& id)> send);
  // Ignores answers to unknown questions.
  void Answer(Response response);
  void GiveUp();  // No further answers will come.

 private:
  struct Open {
    asio::steady_timer answered;
    std::optional<Response> response{};
  };

  const asio::any_io_executor executor_;
  std::map<std::string, std::shared_ptr<Open>> open_;  // By id.
  std::uint64_t asked_ = 0;
  bool given_up_ = false;
};

}  // namespace caisson::jsonrpc
