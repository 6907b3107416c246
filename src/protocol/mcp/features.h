// Features are what a Server offers: tools, resources, prompts and completions, in MCP's own terms. The Server
// does what all of them have in common; a feature does the rest.
//
// Trust     Arguments of tools were checked against the schema; names, URIs and answers are as the client sent them.
// Threads   Handlers run on the exchange's executor, any number at once.
// Lifetime  A handler's exchange stays until it returns.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/notifier.h"
#include "base/error.h"
#include "protocol/mcp/exchange.h"
#include "protocol/mcp/message.h"
#include "wire/value.h"

namespace caisson::mcp {

// A use of a tool or prompt. In the modern era a question is an answer: the client comes again with what was
// asked for and the state it was given.
struct Use {
  Dict arguments{};
  Dict input_responses{};
  std::optional<std::string> request_state{};
};
using UseHandler = std::function<asio::awaitable<Reply>(Use use, Exchange& exchange)>;

struct ToolFeature {
  Dict definition;  // As tools/list shows it: name, description, inputSchema...
  UseHandler call;
  // In place of the definition's, where it is not always the same for everybody.
  std::function<std::string(const Caller& caller)> description{};
};

struct PromptFeature {
  Dict definition;  // As prompts/list shows it.
  UseHandler get;
};

class ResourceFeature {
 public:
  virtual ~ResourceFeature() = default;
  // The fields of resources/list. A cursor that was not given out is an error.
  virtual asio::awaitable<Reply> List(std::optional<std::string> cursor, Exchange& exchange) = 0;
  virtual caisson::List Templates() const { return {}; }
  // The contents; nothing if there is no such resource for this caller (I4).
  virtual asio::awaitable<std::optional<caisson::List>> Read(std::string uri,
                                                             Exchange& exchange) = 0;
};

struct Features {
  std::vector<ToolFeature> tools{};
  std::vector<PromptFeature> prompts{};
  std::unique_ptr<ResourceFeature> resources{};
  std::function<Dict(const Dict& params)> complete{};
  Notifier<>* tools_changed = nullptr;  // Rings when descriptions may have become others; null: never.
};

// {"content": [{"type": "text", "text": text}]}, and the same as the report of a failure.
Dict TextResult(std::string text);
Dict ErrorResult(std::string text);

// The modern era's way to ask: a result that says what is needed.
Dict InputRequired(Dict requests, std::optional<std::string> request_state);

RpcError InvalidParams(std::string message, Value data = {});

// A request that came to nothing: a failure of the server is an error of the protocol, anything else the report of a
// failure, which the model can act on.
Reply FailureReply(const Error& error);

}  // namespace caisson::mcp
