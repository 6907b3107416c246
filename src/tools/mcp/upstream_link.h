// An UpstreamLink is a connection to one MCP server: a program behind pipes, or a URL.
//
// Trust     The server may be hostile. Its messages are bounded and well-formed; nothing else is
//           checked here.
// Threads   Its own serial executor; use RunOn to get there.
// Lifetime  Shared by its users. Close() ends current requests and the program.
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
  // Returns the fields of the result. Fails with kFailedPrecondition if the server answered with an
  // error, kUnavailable if it is not reachable, kCancelled if the wait was cancelled (the server is
  // told). With `on_progress` the server is asked to report progress.
  virtual asio::awaitable<Result<Dict>> Ask(std::string method, Dict params,
                                            OnProgress on_progress) = 0;
  virtual asio::awaitable<void> Tell(std::string method, Dict params) = 0;
  // Sets the negotiated protocol version.
  virtual void SetVersion(std::string version) = 0;
  virtual bool is_broken() const = 0;  // May be called from any thread.
  virtual void Close() = 0;
};

using OnListChanged = std::function<void()>;  // Called on the link's executor.

}  // namespace caisson
