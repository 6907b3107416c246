// Answers POST /responses: as a whole, as a stream, or at once for a background response.
//
// Trust     The request is hostile (create_request.h). A client that disconnects cancels a
//           foreground turn; a background turn continues.
// Threads   The handler's executor.
// Lifetime  That of the handler.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "net/http_exchange.h"
#include "protocol/responses/create_request.h"
#include "protocol/responses/door.h"

namespace caisson::responses {

asio::awaitable<void> CreateResponse(const Door& door, net::Exchange& exchange);

// Returns the agent that the request names, or the default one; nullopt: there is no such agent.
std::optional<std::string> FindAgent(const Door& door, const std::string& model);

// The caller's context for the tools of a turn.
std::shared_ptr<const CallerContext> ContextOf(const Door& door, const Caller& caller,
                                               const TurnSpec& turn);

// Maps an error of TurnService::Start for this turn.
asio::awaitable<ApiError> StartError(const Door& door, IsolationKey owner, const TurnSpec& turn,
                                     Error error);

}  // namespace caisson::responses
