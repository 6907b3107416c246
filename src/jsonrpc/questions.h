// Questions are the requests that we have sent and that are not answered yet.
//
// Trust     Ids that come back are the other side's: an answer counts only for a question that is open.
// Threads   One serial executor.
// Lifetime  Outlives those who wait for answers.
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

  // Calls `send` with the id to ask under and waits. kFailedPrecondition: the answer is an error; kUnavailable: the
  // other side is gone; kCancelled: the wait was cancelled.
  asio::awaitable<Result<Value>> Ask(std::function<void(const Value& id)> send);
  // Answers to what was not asked are ignored.
  void Answer(Response response);
  void GiveUp();  // Nobody will answer any more.

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
