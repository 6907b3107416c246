// The routes of responses that exist: look at one, stream it again, cancel it, delete it, and list
// its input.
//
// Trust     Ids come from clients. A response of another owner gives the answer of an unknown one
//           (I4).
// Threads   The handler's executor.
// Lifetime  That of the handler.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "net/http_exchange.h"
#include "protocol/responses/door.h"

namespace caisson::responses {

// With ?stream=true: the events of a background response, from the one after ?starting_after=.
asio::awaitable<void> GetResponse(const Door& door, net::Exchange& exchange);

asio::awaitable<net::Response> CancelResponse(const Door& door, Caller caller,
                                              net::Request request);
asio::awaitable<net::Response> DeleteResponse(const Door& door, Caller caller,
                                              net::Request request);
asio::awaitable<net::Response> ListInputItems(const Door& door, Caller caller,
                                              net::Request request);

}  // namespace caisson::responses
