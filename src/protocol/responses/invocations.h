// Foundry's plain way to talk to an agent: a message in, text out.
//
//   POST /invocations {"message": "hi", "stream"?: true}      text, or text as server-sent events
//   GET /invocations/{id}         {"id":"inv_…","status":"completed","output":"…"}
//   POST /invocations/{id}/cancel
//   GET /invocations/docs/openapi.json
//
// Invocations with the same session (?agent_session_id=) are turns of one conversation.
//
// Trust     The request is hostile. Sessions and invocations belong to the caller's identity.
// Threads   The handler's executor.
// Lifetime  That of the handler.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "net/http_exchange.h"
#include "protocol/responses/door.h"

namespace caisson::responses {

asio::awaitable<void> Invoke(const Door& door, net::Exchange& exchange);
asio::awaitable<net::Response> GetInvocation(const Door& door, Caller caller, net::Request request);
asio::awaitable<net::Response> CancelInvocation(const Door& door, Caller caller,
                                                net::Request request);
asio::awaitable<net::Response> DescribeInvocations(const Door& door, Caller caller,
                                                   net::Request request);

}  // namespace caisson::responses
