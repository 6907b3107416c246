// A Request as it arrived, a Response as it leaves, and the Problem that most errors are told as (RFC 9457).
//
// Trust     A Request is hostile: its framing has been checked, its content has not. Its headers are those that came
//           before the body; trailers are thrown away.
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
  std::string path{};  // As it came, without the query.
  Query query{};
  Query parameters{};  // Of the route: {"id", "run_7"} for /v1/runs/{id}.
  Headers headers{};
  std::string body{};
  asio::ip::address peer{};
  // What the route's screen found out about the sender (router.h); empty without a screen.
  std::any caller{};
  // Who is charged for the body's memory; set by the screen. Empty: the peer's address.
  std::string account{};

  // Precondition: the route has it.
  const std::string& Parameter(std::string_view name) const;
  // Null if it is not there; one that comes twice counts as the first.
  const std::string* FindQuery(std::string_view name) const;
  // Whether the client takes this media type when it is named; */* does not name it.
  bool Accepts(std::string_view media_type) const;
};

struct Response {
  int status = 200;
  Headers headers{};  // Length, connection and date are added.
  std::string body{};
  // Of a failure of ours: what happened, for the log. Without a body it is told as a problem with an id alone.
  std::string failure{};
};

Response JsonResponse(int status, std::string body);

struct Problem {
  int status = 500;
  std::string detail{};
  std::string type = "about:blank";
  std::string instance{};  // Which occurrence: what to look for in the log.
};

// With the status's own name as title.
Response ToResponse(const Problem& problem);

std::string_view ReasonPhrase(int status);

}  // namespace caisson::net
