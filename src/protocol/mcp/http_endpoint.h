// An HttpEndpoint speaks MCP over streamable HTTP, with clients of both eras, at one path.
//
//   HttpEndpoint endpoint(server, resolver, io);
//   endpoint.Mount(router);
//
// An answer is one JSON object, unless something has to be said before it: then it is a stream of events that ends
// with the answer. A modern client that goes away has cancelled its request; a legacy one has not.
//
// Trust     Requests are hostile: identity is resolved once for each (I2), headers must say what the body says. Host,
//           Origin and sizes are checked by net.
// Threads   Handlers on their connections' strands; a legacy session's requests on the session's own.
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
#include "net/exchange.h"
#include "net/router.h"
#include "protocol/mcp/http_sessions.h"
#include "protocol/mcp/server.h"

namespace caisson::mcp {

struct HttpEndpointOptions {
  std::string path = "/mcp";
  // Those who give tokens for this server; with them, or where clients need a key, the metadata of RFC 9728 is served.
  std::vector<std::string> authorization_servers{};
  bool tells_metadata = false;
  SessionHost* sessions = nullptr;  // Without one, runs act for nobody in particular.
  std::optional<asio::any_io_executor>
      cpu_pool{};  // Where large bodies are read; without one, on their strands.
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

  // The screen of the routes: puts the Principal into the request, or returns the answer to one that has none.
  asio::awaitable<std::optional<net::Response>> Identify(net::Request& request) const;

  asio::awaitable<void> TakeModern(Message message, Principal principal, net::Exchange& http);
  asio::awaitable<void> TakeLegacy(Message message, Principal principal, net::Exchange& http);
  asio::awaitable<void> TakeInitialize(Request request, Principal principal, net::Exchange& http);
  asio::awaitable<void> TakeBatch(Batch batch, Principal principal, net::Exchange& http);
  // The session that the request names, or the answer to one that names none of this owner's.
  std::variant<std::shared_ptr<HttpSession>, net::Response> SessionOf(const net::Request& request,
                                                                      const IsolationKey& owner);
  // Answers all of them; `conversation` expects as many.
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
