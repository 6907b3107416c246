// The parts that all routes of the Responses API share: its services, the caller of a request, and
// the headers of every answer.
//
// Trust     Headers are hostile. The identity is resolved once per request (I2), before the body is
//           read.
// Threads   Values; Screen and LoadImages from any number of strands.
// Lifetime  The services outlive the routes.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/conversations.h"
#include "agent/turn_service.h"
#include "base/clock.h"
#include "base/result.h"
#include "caller/caller_context.h"
#include "identity/resolver.h"
#include "net/router.h"
#include "protocol/responses/response_json.h"

namespace caisson::responses {

namespace asio = boost::asio;

// Returns the contents of a file of a run of this owner (RunService::File).
using LoadRunFile = std::function<asio::awaitable<Result<std::string>>(
    IsolationKey owner, RunId run, std::uint32_t number)>;

struct ResponsesServices {
  TurnService& turns;
  Conversations& conversations;
  const IdentityResolver& identity;
  const Clock& clock;
  LoadRunFile load_file{};            // Empty: images are shown by their paths.
  CallerHost* caller_host = nullptr;  // Null: turns have no session context.
  std::optional<asio::any_io_executor>
      cpu_pool{};  // Reads large bodies; without it they are read on their strands.
};

struct ResponsesOptions {
  std::string default_agent{};  // For a request without `model`. Empty: the first agent.
  // A header that every request must have, because a platform in front of this server adds it.
  // Empty: none.
  std::string required_header{};
  // Foundry's form: the session of a request that names none, and the name of this server.
  std::string session{};
  std::string server_name = "caisson";
};

// The two forms of the routes.
struct Form {
  std::string prefix = "/v1";
  std::string id_prefix = "resp_";
  enum class Done { kMarked, kUnmarked };
  Done done = Done::kMarked;  // kMarked: a stream ends with "[DONE]".
  enum class Platform { kNone, kFoundry };
  Platform platform = Platform::kNone;

  static Form OpenAi() { return {}; }
  static Form Foundry() {
    return {.prefix = "",
            .id_prefix = "caresp_",
            .done = Done::kUnmarked,
            .platform = Platform::kFoundry};
  }
};

// Histories come whole, with images.
inline constexpr std::size_t kMaxBodyBytes = 16u << 20;

struct Door {
  ResponsesServices services;
  ResponsesOptions options;
  Form form;
};

// The names of a request that its answer repeats.
struct RequestNames {
  std::string request_id;
  std::string session{};  // In Foundry's form.
};

struct Caller {
  Identity identity;
  IsolationKey owner;
  RequestNames names;
};

// Resolves the caller; refuses a request without one.
net::Screen MakeScreen(std::shared_ptr<const Door> door);
net::AdaptRefusal MakeAdaptRefusal(std::shared_ptr<const Door> door);
// Precondition: the route has the screen.
const Caller& CallerOf(const net::Request& request);

void AddHeaders(const Door& door, const RequestNames& names, int status, net::Headers& headers);

// Returns the addresses of the images of finished code. Small images become data URLs.
asio::awaitable<ImageUrls> LoadImages(const Door& door, IsolationKey owner,
                                      const std::vector<TurnItem>& items);

// An operation that answers as a whole. Its error responses come from api_error.h.
using Operation = asio::awaitable<net::Response> (*)(const Door& door, Caller caller,
                                                     net::Request request);
net::Handler Handle(std::shared_ptr<const Door> door, Operation operation);

}  // namespace caisson::responses
