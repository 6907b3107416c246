// A Request as it arrived, a Response to send, and the Problem that describes most errors (RFC
// 9457).
//
// Trust     A Request is hostile: its framing has been checked, its content has not. Its headers
//           are those before the body; trailers are dropped.
// Threads   Values.
// Lifetime  Values.
#pragma once

#include <any>
#include <boost/asio/ip/address.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "net/headers.h"
#include "net/target.h"

namespace caisson::net {

namespace asio = boost::asio;

struct Request {
  std::string method;
  std::string path{};  // As received, without the query.
  Query query{};
  Query parameters{};  // Of the route: {"id", "run_7"} for /v1/runs/{id}.
  Headers headers{};
  std::string body{};
  asio::ip::address peer{};
  // The sender, as determined by the route's screen (router.h); empty without a screen.
  std::any caller{};
  // The account that is charged for the body's memory; set by the screen. Empty: the peer's
  // address.
  std::string account{};

  // Precondition: the route has this parameter.
  const std::string& Parameter(std::string_view name) const;
  // Returns the first value of that name; null if there is none.
  const std::string* FindQuery(std::string_view name) const;
  // Returns true if the client accepts this media type by name; */* does not count.
  bool Accepts(std::string_view media_type) const;
};

struct Response {
  int status = 200;
  Headers headers{};  // Length, connection and date are added later.
  std::string body{};
  // For a failure of the server: details for the log. Without a body, the client gets a problem
  // with an id only.
  std::string failure{};
};

Response JsonResponse(int status, std::string body);

struct Problem {
  int status = 500;
  std::string detail{};
  std::string type = "about:blank";
  std::string instance{};  // Identifies the occurrence in the log.
};

// Uses the standard name of the status as the title.
Response ToResponse(const Problem& problem);

std::string_view ReasonPhrase(int status);

}  // namespace caisson::net
