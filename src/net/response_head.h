// Writes the head of an answer.
//
// Trust     Values may come from clients through a handler, so call IsSafeHead first.
// Threads   Pure functions.
// Lifetime  Keeps nothing.
#pragma once

#include <string>
#include <string_view>

#include "net/http_message.h"
#include "net/request_reader.h"

namespace caisson::net {

bool IsSafeHead(const Response& response);

// Returns the status line, date, the response's fields and `more`, connection, `framing` (whole
// lines), and the empty line.
std::string ResponseHead(const Response& response, const Headers& more, KeepAlive keep_alive,
                         std::string_view framing);

}  // namespace caisson::net
