// A Model is a client of one language model.
//
//   auto reply = co_await model.Generate(
//       {.instructions = "Be brief.", .items = history, .tools = tools},
//       [](const model::Delta& delta) { ... });
//
// Trust     The server's output is hostile. Its size is bounded; its content is passed on.
// Threads   Generate works on the executor of its coroutine, which must be serial. A Model is
//           shared by many coroutines.
// Lifetime  Outlives its coroutines. Cancelling a coroutine closes its connection.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "model/conversation.h"
#include "wire/value.h"

namespace caisson::model {

namespace asio = boost::asio;

struct ToolDeclaration {
  std::string name;
  std::string description{};
  Value input_schema = Dict{};  // JSON Schema of an object.
};

// Which tools the model may call in this reply.
struct ToolChoice {
  enum class Mode { kAuto, kNone, kRequired, kNamed };
  Mode mode = Mode::kAuto;
  std::string name{};  // For kNamed.
};

struct ModelRequest {
  std::string instructions{};
  std::vector<Item> items{};
  std::vector<ToolDeclaration> tools{};
  ToolChoice tool_choice{};
  std::optional<bool> parallel_tool_calls{};
  std::optional<std::uint64_t> max_output_tokens{};
  std::optional<double> temperature{};
  std::optional<double> top_p{};
};

// Pieces of a reply as they arrive. `item` counts the items of the reply, from 0.
struct TextDelta {
  std::size_t item = 0;
  std::string text;
};
struct RefusalDelta {
  std::size_t item = 0;
  std::string text;
};
struct ReasoningDelta {
  std::size_t item = 0;
  std::string text;
};
struct ToolCallBegun {
  std::size_t item = 0;
  std::string call_id;
  std::string name;
};
struct ArgumentsDelta {
  std::size_t item = 0;
  std::string text;
};
using Delta = std::variant<TextDelta, RefusalDelta, ReasoningDelta, ToolCallBegun, ArgumentsDelta>;
using OnDelta = std::function<void(const Delta&)>;

enum class Finish { kStop, kToolCalls, kLength, kContentFilter };

struct TokenUsage {
  std::uint64_t input = 0;
  std::uint64_t cached_input = 0;  // Part of `input`.
  std::uint64_t output = 0;
  std::uint64_t reasoning = 0;  // Part of `output`.
};

struct ModelReply {
  std::vector<Item> items{};  // Assistant messages, reasoning and tool calls, in order.
  Finish finish = Finish::kStop;
  TokenUsage usage{};
  std::string model{};  // As the server names it.
};

class Model {
 public:
  virtual ~Model() = default;

  // Returns the whole reply; `on_delta` receives its pieces before, if the server streams. Every
  // tool call of the reply has an id that is unique within the reply. Failed requests are repeated
  // only as long as `on_delta` has received nothing. Fails with
  //   kInvalidArgument    the server refuses the request, or the model does not exist
  //   kPermissionDenied   the key is missing or refused
  //   kResourceExhausted  too many requests, or the reply exceeds a bound
  //   kUnavailable        the server cannot be reached, failed, or ended the stream too early
  //   kDeadlineExceeded   a time-out
  //   kCancelled          the coroutine was cancelled
  virtual asio::awaitable<Result<ModelReply>> Generate(ModelRequest request, OnDelta on_delta) = 0;
};

}  // namespace caisson::model
