// A Tool is a function that the host offers to running code: a name, a schema, rules, and a body.
//
//   auto add = Tool::Make({.name = "add", .description = "Adds.", .input_schema = schema},
//                         Inline([](const Dict& given) -> Result<Value> { ... }));
//   ToolRun run;
//   auto answer = co_await (*add)->InvokeRaw({.keywords = arguments}, run);
//
// Invoke is for a model (contents), InvokeRaw for code (the value itself). Both do the same steps:
// bind and check the arguments, ask for the approval, count, execute and trace the call.
//
// An Error from them means that nothing was done. After the tool was started the result is a
// ToolAnswer, also for failures, and the effect may have happened (I6).
//
// Trust     Arguments come from a cell and are hostile until checked. Descriptions and schemas may
//           be an upstream's. The caller bounds the size of the tool's answer.
// Threads   A Tool is immutable and shared. A ToolRun belongs to one executor, that of its run.
// Lifetime  Shared by registries, snapshots and current calls.
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

// kIdempotent: executing a call twice has the same effect as once.
enum class Repeat { kUnsafe, kIdempotent };

struct ToolDefinition {
  std::string name;
  std::string description{};
  Value input_schema = Dict{};  // For an object: its properties are the arguments.
  std::optional<Value> output_schema{};
  Approval approval{};
  Repeat repeat = Repeat::kUnsafe;
  // Identifies the behaviour of the body if it can change under the same name: a command line, an
  // upstream. An approval for another revision does not apply (I5).
  std::string revision{};
  std::optional<std::uint64_t> max_calls_per_run{};
  std::chrono::nanoseconds timeout = std::chrono::seconds(60);
  // A call that reports progress gets a new `timeout` each time, up to this total. nullopt: one
  // `timeout`, even with progress.
  std::optional<std::chrono::nanoseconds> longest{};
};

enum class Consent { kNone, kGiven };  // Of the approver, to exactly this call (I5).

// One call as it was made.
struct Invocation {
  List positional{};
  Dict keywords{};
  Consent consent = Consent::kNone;
  std::string idempotency_key{};
  bool bound = false;   // `keywords` is a result of Bind().
  StartEffect start{};  // Called before the effect. If it returns false, nothing is done.
};

// The result of one call, for logs and metrics. Contains neither arguments nor results, which may
// be secret.
struct ToolTrace {
  std::string tool;
  std::string outcome;     // "returned", "raised", "denied" or "refused" (not started).
  std::string error_type;  // Of what was raised or refused.
  std::chrono::nanoseconds duration{};
};

// State shared by the calls of one run.
class ToolRun {
 public:
  using Trace = std::function<void(const ToolTrace&)>;
  explicit ToolRun(Trace trace = {}, std::shared_ptr<const CallerContext> caller = {},
                   OnToolProgress on_progress = {})
      : trace_(std::move(trace)),
        caller_(std::move(caller)),
        on_progress_(std::move(on_progress)) {}

  // Counts a call that the same run made earlier, elsewhere.
  void Count(const std::string& tool) { ++calls_[tool]; }

 private:
  friend class Tool;
  Trace trace_;
  std::shared_ptr<const CallerContext> caller_;
  OnToolProgress on_progress_;
  std::map<std::string, std::uint64_t> calls_;
};

class Tool : public std::enable_shared_from_this<Tool> {
 public:
  // Refuses invalid names, schemas and limits, and says which and why.
  static Result<std::shared_ptr<const Tool>> Make(ToolDefinition definition, ToolBody body);

  // Returns this tool as one whose calls all need an approval.
  std::shared_ptr<const Tool> AskingAlways() const;

  const std::string& name() const { return definition_.name; }
  const ToolDefinition& definition() const { return definition_; }
  const Signature& signature() const { return signature_; }

  // Returns the arguments by name if they match the schema and the body accepts them. The error
  // says what to change.
  Result<Dict> Bind(List positional, Dict keywords) const;
  bool NeedsApproval(const Dict& arguments) const {
    return definition_.approval.IsNeeded(arguments);
  }

  asio::awaitable<Result<std::vector<Content>>> Invoke(Invocation invocation, ToolRun& run) const;
  asio::awaitable<Result<ToolAnswer>> InvokeRaw(Invocation invocation, ToolRun& run) const;

  // Returns true if InvokeNow can be used: the tool answers at once, without a coroutine.
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
