// A StdioServer serves MCP, of both eras, to the one client at the other end of two pipes.
//
//   StdioServer server(mcp_server, lines, principal, executor);
//   co_await server.Serve();                         // until the client disconnects
//
// Trust     Lines are hostile. Lines that are too long, too many at once or not messages are
//           answered with an error and have no other effect.
// Threads   One serial executor.
// Lifetime  Serve() returns when no request is running. Server and lines outlive it.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <memory>

#include "net/stdio/line_stream.h"
#include "protocol/mcp/client_connection.h"
#include "protocol/mcp/server.h"

namespace caisson::mcp {

class StdioServer {
 public:
  StdioServer(const Server& server, LineStream& lines, Principal principal,
              const asio::any_io_executor& executor);
  StdioServer(const StdioServer&) = delete;
  StdioServer& operator=(const StdioServer&) = delete;

  // Ends when the client closes its end, or lines.Close() was called. Requests that are nearly done
  // are still answered; the rest are cancelled.
  asio::awaitable<void> Serve();

 private:
  class LineExchange;
  class Answers;

  asio::awaitable<void> Read();
  asio::awaitable<void> TellChanges();
  void Take(const Line& line);
  void TakeMessage(Message message, const std::shared_ptr<Answers>& answers);
  void Begin(Request request, std::shared_ptr<Answers> answers);
  asio::awaitable<void> Answer(Request request,
                               std::shared_ptr<RequestsUnderWay::Underway> underway,
                               std::shared_ptr<Answers> answers);
  asio::awaitable<void> WaitForRequests(asio::steady_timer::duration at_most);

  const Server& server_;
  LineStream& lines_;
  const std::shared_ptr<ClientConnection> connection_;  // Shared with the exchanges.
  asio::steady_timer idle_;  // Cancelled when the last request has ended.
};

}  // namespace caisson::mcp
