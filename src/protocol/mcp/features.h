// Features are what a Server offers: tools, resources, prompts and completions, in MCP's own terms.
// The Server implements what they have in common; a feature implements the rest.
//
// Trust     Arguments of tools were checked against the schema; names, URIs and answers are as the
//           client sent them.
// Threads   Handlers run on the exchange's executor, any number at once.
// Lifetime  A handler's exchange exists until it returns.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/notifier.h"
#include "protocol/mcp/mcp_exchange.h"
#include "protocol/mcp/mcp_message.h"
#include "wire/value.h"

namespace caisson::mcp {

// One use of a tool or prompt. In the modern era a question is sent as an answer: the client
// repeats the request with the answers and the given state.
struct Use {
  Dict arguments{};
  Dict input_responses{};
  std::optional<std::string> request_state{};
};
using UseHandler = std::function<asio::awaitable<Reply>(Use use, Exchange& exchange)>;

struct ToolFeature {
  Dict definition;  // As shown by tools/list: name, description, inputSchema...
  UseHandler call;
  // Replaces the definition's description, if it differs between callers or over time.
  std::function<std::string(const Caller& caller)> description{};
};

struct PromptFeature {
  Dict definition;  // As shown by prompts/list.
  UseHandler get;
};

class ResourceFeature {
 public:
  virtual ~ResourceFeature() = default;
  // Returns the fields of resources/list. Fails for an unknown cursor.
  virtual asio::awaitable<Reply> List(std::optional<std::string> cursor, Exchange& exchange) = 0;
  virtual caisson::List Templates() const { return {}; }
  // Returns the contents; nullopt if this caller has no such resource (I4).
  virtual asio::awaitable<std::optional<caisson::List>> Read(std::string uri,
                                                             Exchange& exchange) = 0;
};

struct Features {
  std::vector<ToolFeature> tools{};
  std::vector<PromptFeature> prompts{};
  std::unique_ptr<ResourceFeature> resources{};
  std::function<Dict(const Dict& params)> complete{};
  Notifier<>* tools_changed = nullptr;  // Notifies when descriptions may have changed; null: never.
};

// Return {"content": [{"type": "text", "text": text}]}, and the same as the report of a failure.
Dict TextResult(std::string text);
Dict ErrorResult(std::string text);

// The question of the modern era: a result that says which input is needed.
Dict InputRequired(Dict requests, std::optional<std::string> request_state);

RpcError InvalidParams(std::string message, Value data = {});

// Returns the reply to a failed request. A failure of the server is a protocol error; other
// failures are reported to the model, which can act on them.
Reply FailureReply(const Error& error);

}  // namespace caisson::mcp
