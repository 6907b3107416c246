// An HttpEndpoint serves MCP over streamable HTTP, for clients of both eras, at one path.
//
//   HttpEndpoint endpoint(server, resolver, io);
//   endpoint.Mount(router);
//
// An answer is one JSON object. If other messages precede it, the answer is a stream of events that
// ends with it. If a modern client disconnects, its request is cancelled; a legacy client's is not.
//
// Trust     Requests are hostile. Identity is resolved once for each (I2), and headers must match
//           the body. net checks Host, Origin and sizes.
// Threads   Handlers run on their connections' strands; the requests of a legacy session run on the
//           session's strand.
// Lifetime  Server and resolver outlive it; it outlives the net server it is mounted on.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "identity/resolver.h"
#include "net/http_exchange.h"
#include "net/router.h"
#include "protocol/mcp/http_sessions.h"
#include "protocol/mcp/server.h"

namespace caisson::mcp {

struct HttpEndpointOptions {
  std::string path = "/mcp";
  // The issuers of tokens for this server. If there are any, or if clients need a key, the metadata
  // of RFC 9728 is served.
  std::vector<std::string> authorization_servers{};
  bool tells_metadata = false;
  CallerHost* caller_host = nullptr;  // Null: runs have no session context.
  std::optional<asio::any_io_executor>
      cpu_pool{};  // Reads and writes large bodies; without it their strands do.
};

class HttpEndpoint {
 public:
  HttpEndpoint(const Server& server, const IdentityResolver& resolver, asio::any_io_executor io,
               HttpEndpointOptions options = {});
  HttpEndpoint(const HttpEndpoint&) = delete;
  HttpEndpoint& operator=(const HttpEndpoint&) = delete;

  void Mount(net::Router& router);

 private:
  class Conversation;
  class HttpExchange;

  asio::awaitable<void> Post(net::Exchange& http);
  asio::awaitable<void> Get(net::Exchange& http);
  asio::awaitable<net::Response> Delete(net::Request request);
  asio::awaitable<net::Response> Metadata(net::Request request) const;

  // The screen of the routes: puts the Principal into the request, or returns the answer if there
  // is none.
  asio::awaitable<std::optional<net::Response>> Identify(net::Request& request) const;

  asio::awaitable<void> TakeModern(Message message, Principal principal, net::Exchange& http);
  asio::awaitable<void> TakeLegacy(Message message, Principal principal, net::Exchange& http);
  asio::awaitable<void> TakeInitialize(Request request, Principal principal, net::Exchange& http);
  asio::awaitable<void> TakeBatch(Batch batch, Principal principal, net::Exchange& http);
  // Returns the session of the request, or the answer if this owner has no such session.
  std::variant<std::shared_ptr<HttpSession>, net::Response> SessionOf(const net::Request& request,
                                                                      const IsolationKey& owner);
  // Answers all of them; `conversation` expects that number.
  asio::awaitable<void> AnswerInSession(std::vector<Request> requests,
                                        std::shared_ptr<HttpSession> session,
                                        std::shared_ptr<Conversation> conversation,
                                        net::Exchange& http);
  asio::awaitable<void> WorkInSession(Request request, std::shared_ptr<HttpSession> session,
                                      std::shared_ptr<HttpExchange> exchange,
                                      std::shared_ptr<Conversation> conversation,
                                      std::shared_ptr<RequestsUnderWay::Underway> underway) const;

  const Server& server_;
  const IdentityResolver& resolver_;
  const HttpEndpointOptions options_;
  HttpSessions sessions_;
};

}  // namespace caisson::mcp
