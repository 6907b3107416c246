// An UpstreamLink is a conversation with one MCP server: a program behind pipes, or a URL.
//
// Trust     The server may be hostile: what it says is bounded and has the shape of a message, nothing more.
// Threads   Its own executor, which is serial; others get there by RunOn.
// Lifetime  Shared by those who use it. Close() ends what is under way; with it the program is gone.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <functional>
#include <string>

#include "base/result.h"
#include "tools/progress.h"
#include "wire/value.h"

namespace caisson {

namespace asio = boost::asio;

class UpstreamLink {
 public:
  virtual ~UpstreamLink() = default;

  virtual asio::any_io_executor executor() const = 0;
  // The fields of the result. kFailedPrecondition: the server answered with an error; kUnavailable: it is not there
  // (any more); kCancelled: the wait was cancelled, and the server told so. With `on_progress` the server is asked to tell
  // of its progress.
  virtual asio::awaitable<Result<Dict>> Ask(std::string method, Dict params,
                                            OnProgress on_progress) = 0;
  virtual asio::awaitable<void> Tell(std::string method, Dict params) = 0;
  // What the server and we speak from now on.
  virtual void SetVersion(std::string version) = 0;
  virtual bool is_broken() const = 0;  // From anywhere.
  virtual void Close() = 0;
};

using OnListChanged = std::function<void()>;  // Called on the link's executor.

}  // namespace caisson
