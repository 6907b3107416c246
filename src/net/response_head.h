// How the head of an answer is written.
//
// Trust     Values may come from clients by way of a handler: IsSafeHead is asked first.
// Threads   Pure functions.
// Lifetime  Nothing is kept.
#pragma once

#include <string>
#include <string_view>

#include "net/message.h"
#include "net/request_reader.h"

namespace caisson::net {

bool IsSafeHead(const Response& response);

// Status line, date, the response's fields and `more`, connection, `framing` (whole lines), and the empty line.
std::string ResponseHead(const Response& response, const Headers& more, KeepAlive keep_alive,
                         std::string_view framing);

}  // namespace caisson::net
