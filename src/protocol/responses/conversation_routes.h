// The routes of conversations and their items.
//
// Trust     Ids and items come from clients. A conversation of another owner gives the answer of an
//           unknown one (I4).
// Threads   The handler's executor.
// Lifetime  That of the handler.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "protocol/responses/door.h"

namespace caisson::responses {

asio::awaitable<net::Response> CreateConversation(const Door& door, Caller caller,
                                                  net::Request request);
asio::awaitable<net::Response> GetConversation(const Door& door, Caller caller,
                                               net::Request request);
asio::awaitable<net::Response> DeleteConversation(const Door& door, Caller caller,
                                                  net::Request request);
asio::awaitable<net::Response> AddConversationItems(const Door& door, Caller caller,
                                                    net::Request request);
asio::awaitable<net::Response> ListConversationItems(const Door& door, Caller caller,
                                                     net::Request request);
asio::awaitable<net::Response> GetConversationItem(const Door& door, Caller caller,
                                                   net::Request request);

}  // namespace caisson::responses
