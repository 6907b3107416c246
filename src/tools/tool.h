// A Tool is something the host can do for running code: a name, a schema, rules, and what it does.
//
//   auto add = Tool::Make({.name = "add", .description = "Adds two numbers.", .input_schema = schema},
//                         Inline([](const Dict& given) -> Result<Value> { ... }));
//   ToolRun run;
//   auto answer = co_await (*add)->InvokeRaw({.keywords = arguments}, run);
//
// Invoke is for a model (contents), InvokeRaw for code (the value itself); both go the same way: arguments
// are bound and checked, the approval is asked for, the call is counted, done and traced.
//
// An Error from them means that nothing was done: the caller can say so. Once the tool was started the answer
// is a ToolAnswer, a failure of any kind included, and its effect may have happened (I6).
//
// Trust     Arguments come from a cell and are hostile until checked. Descriptions and schemas may be an
//           upstream's. What the tool answers is bounded by whoever sends it on.
// Threads   A Tool is immutable and shared. A ToolRun belongs to one executor, that of its run.
// Lifetime  Shared by registries, snapshots and calls under way.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"
#include "tools/approval.h"
#include "tools/body.h"
#include "tools/content.h"
#include "tools/progress.h"
#include "tools/schema.h"
#include "tools/signature.h"

namespace caisson {

// Whether doing it twice is as good as once.
enum class Repeat { kUnsafe, kIdempotent };

struct ToolDefinition {
  std::string name;
  std::string description{};
  Value input_schema = Dict{};  // Of an object: its properties are the arguments.
  std::optional<Value> output_schema{};
  Approval approval{};
  Repeat repeat = Repeat::kUnsafe;
  // Stands for what the body does, where that can change under the same name: a command line, an upstream.
  // What was approved of another revision was approved of another tool (I5).
  std::string revision{};
  std::optional<std::uint64_t> max_calls_per_run{};
  std::chrono::nanoseconds timeout = std::chrono::seconds(60);
  // A call that tells of its progress is given `timeout` anew each time, but no more than this in all. Nothing: one
  // `timeout`, whatever it tells.
  std::optional<std::chrono::nanoseconds> longest{};
};

enum class Consent { kNone, kGiven };  // Of whoever may approve, to exactly this call (I5).

// One call as it was made.
struct Invocation {
  List positional{};
  Dict keywords{};
  Consent consent = Consent::kNone;
  std::string idempotency_key{};
  bool bound = false;   // `keywords` are what Bind() gave.
  StartEffect start{};  // Called before the effect; nothing is done if it says no.
};

// How one call went, for logs and metrics. Neither arguments nor results: they may be secret.
struct ToolTrace {
  std::string tool;
  std::string outcome;     // "returned", "raised", "denied" or "refused" (not started).
  std::string error_type;  // Of what was raised or refused.
  std::chrono::nanoseconds duration{};
};

// What the calls of one run have in common.
class ToolRun {
 public:
  using Trace = std::function<void(const ToolTrace&)>;
  explicit ToolRun(Trace trace = {}, std::shared_ptr<const SessionContext> session = {},
                   OnToolProgress on_progress = {})
      : trace_(std::move(trace)),
        session_(std::move(session)),
        on_progress_(std::move(on_progress)) {}

  // A call that was made before, by the same run elsewhere.
  void Count(const std::string& tool) { ++calls_[tool]; }

 private:
  friend class Tool;
  Trace trace_;
  std::shared_ptr<const SessionContext> session_;
  OnToolProgress on_progress_;
  std::map<std::string, std::uint64_t> calls_;
};

class Tool : public std::enable_shared_from_this<Tool> {
 public:
  // Refuses names, schemas and limits that cannot be, saying which and why.
  static Result<std::shared_ptr<const Tool>> Make(ToolDefinition definition, ToolBody body);

  const std::string& name() const { return definition_.name; }
  const ToolDefinition& definition() const { return definition_; }
  const Signature& signature() const { return signature_; }

  // The arguments by name, if the call is as the schema wants it and the body can take them. The error says what to
  // change.
  Result<Dict> Bind(List positional, Dict keywords) const;
  bool NeedsApproval(const Dict& arguments) const {
    return definition_.approval.IsNeeded(arguments);
  }

  asio::awaitable<Result<std::vector<Content>>> Invoke(Invocation invocation, ToolRun& run) const;
  asio::awaitable<Result<ToolAnswer>> InvokeRaw(Invocation invocation, ToolRun& run) const;

  // Whether InvokeNow can be used: the tool answers at once, without a coroutine.
  bool is_immediate() const { return body_.is_immediate(); }
  Result<ToolAnswer> InvokeNow(Invocation invocation, ToolRun& run) const;

 private:
  Tool(ToolDefinition definition, ToolBody body, Schema input, std::optional<Schema> output);

  Result<Dict> Admit(Invocation invocation, ToolRun& run) const;
  asio::awaitable<Result<ToolReply>> Perform(Invocation invocation, ToolRun& run) const;
  Result<ToolReply> PerformNow(Invocation invocation, ToolRun& run) const;
  Error Refuse(Error error, ToolRun& run) const;
  ToolReply Finish(ToolReply reply, std::chrono::steady_clock::time_point start,
                   ToolRun& run) const;

  const ToolDefinition definition_;
  const ToolBody body_;
  const Schema input_;
  const std::optional<Schema> output_;
  const Signature signature_;
};

}  // namespace caisson
