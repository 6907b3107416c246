#include "tools/tool.h"

#include <algorithm>
#include <atomic>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <string_view>
#include <utility>

#include "base/closest.h"
#include "base/run_on.h"

namespace caisson {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxName = 64;

Error Bad(std::string message) {
  return Error(ErrorCode::kInvalidArgument, std::move(message));
}

Result<void> CheckName(std::string_view name) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  const auto is_allowed = [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '.' || c == '-';
  };
  if (!name.empty() && name.size() <= kMaxName && is_letter(name.front()) &&
      std::ranges::all_of(name, is_allowed)) {
    return {};
  }
  return Bad(
      "a tool's name has up to 64 letters, digits, \"_\", \".\" or \"-\" and starts with a "
      "letter or \"_\"");
}

Result<void> CheckDefinition(const ToolDefinition& definition) {
  TRY(CheckName(definition.name));
  if (definition.max_calls_per_run == 0u) return Bad("max_calls_per_run must be at least 1");
  if (definition.timeout.count() <= 0) return Bad("timeout must be above 0");
  if (definition.longest && *definition.longest < definition.timeout) {
    return Bad("the longest time of a call must not be below its timeout");
  }
  const auto* schema = definition.input_schema.If<Dict>();
  if (schema == nullptr) return Bad("the input schema must be an object");
  const Value* type = schema->Find("type");
  if (type != nullptr && *type != Value(std::string("object"))) {
    return Bad("the input schema must be of type \"object\": its properties are the arguments");
  }
  return {};
}

// Makes the schema refuse unknown arguments, unless it explicitly allows others.
Value Closed(Value schema) {
  auto& dict = std::get<Dict>(schema.variant());
  if (dict.Find("additionalProperties") == nullptr &&
      dict.Find("unevaluatedProperties") == nullptr) {
    dict.items.emplace_back(std::string("unevaluatedProperties"), false);
  }
  return schema;
}

// Returns true if all properties are listed in one place, the signature.
bool IsPlain(const Value& schema) {
  static constexpr std::string_view kElsewhere[] = {
      "allOf", "anyOf", "oneOf", "if", "dependentSchemas", "$dynamicRef"};
  const auto* dict = schema.If<Dict>();
  return dict != nullptr && std::ranges::none_of(kElsewhere, [&](std::string_view keyword) {
           return dict->Find(keyword) != nullptr;
         });
}

// The time limit of a call. Shared by the waiting coroutine and the receiver of progress.
class Deadline {
 public:
  Deadline(const ToolDefinition& definition, Clock::time_point start)
      : timeout_(definition.timeout),
        last_(start + definition.longest.value_or(definition.timeout)),
        at_(std::min(start + timeout_, last_)) {}

  void OnProgress() { at_ = std::min(Clock::now() + timeout_, last_); }

  // Returns at the deadline. The timer may ring at an earlier deadline that was extended since.
  asio::awaitable<void> Wait() const {
    asio::steady_timer timer(co_await asio::this_coro::executor);
    for (Clock::time_point at = at_; Clock::now() < at; at = at_) {
      timer.expires_at(at);
      const auto [cancelled] = co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
      if (cancelled) co_return;
    }
  }

 private:
  const std::chrono::nanoseconds timeout_;
  const Clock::time_point last_;
  std::atomic<Clock::time_point> at_;
};

// Binds a call as Python would, step by step.
class Binder {
 public:
  Binder(const Signature& signature, const Schema& schema)
      : signature_(signature), schema_(schema) {}

  Result<Dict> Bind(List positional, Dict keywords) const {
    TRY_ASSIGN(Dict arguments, Named(std::move(positional), std::move(keywords)));
    if (!signature_.takes_more && IsPlain(schema_.document())) TRY(RefuseUnknown(arguments));
    TRY(RefuseMissing(arguments));
    Value value(std::move(arguments));
    const auto problems = schema_.Check(value);
    if (problems.empty()) return std::move(std::get<Dict>(value.variant()));
    std::string text;
    for (const SchemaProblem& problem : problems) {
      text.append(text.empty() ? "" : "; ").append(problem.Text());
    }
    return Wrong(text);
  }

 private:
  Error Wrong(const std::string& problem) const {
    const std::string_view stop = problem.ends_with('?') ? " " : ". ";
    return Bad(signature_.name + ": " + problem + std::string(stop) + "Call it as " +
               signature_.Call());
  }

  Result<Dict> Named(List positional, Dict keywords) const {
    for (const auto& [key, value] : keywords.items) {
      if (key.If<std::string>() == nullptr) return Wrong("the name of an argument must be a str");
    }
    if (positional.items.empty()) return keywords;
    Dict arguments;
    for (std::size_t i = 0; i < positional.items.size(); ++i) {
      if (i >= signature_.parameters.size()) {
        return Wrong(i == 0 ? "it takes no arguments"
                            : "it takes at most " + std::to_string(i) +
                                  (i == 1 ? " argument" : " arguments") + " without a name");
      }
      const std::string& name = signature_.parameters[i].name;
      if (keywords.Find(name) != nullptr) return Wrong("argument \"" + name + "\" is given twice");
      arguments.items.emplace_back(name, std::move(positional.items[i]));
    }
    std::ranges::move(keywords.items, std::back_inserter(arguments.items));
    return arguments;
  }

  Result<void> RefuseUnknown(const Dict& arguments) const {
    for (const auto& [key, value] : arguments.items) {
      const auto& name = *key.If<std::string>();
      if (std::ranges::find(signature_.parameters, name, &Parameter::name) !=
          signature_.parameters.end()) {
        continue;
      }
      std::vector<std::string_view> names;
      for (const Parameter& parameter : signature_.parameters) names.push_back(parameter.name);
      return Wrong("there is no argument \"" + name.substr(0, kMaxName) + "\"" +
                   DidYouMean(name, names));
    }
    return {};
  }

  Result<void> RefuseMissing(const Dict& arguments) const {
    std::string missing;
    for (const Parameter& parameter : signature_.parameters) {
      if (parameter.presence != Presence::kRequired || arguments.Find(parameter.name)) continue;
      missing.append(missing.empty() ? "" : ", ").append("\"" + parameter.name + "\"");
    }
    if (missing.empty()) return {};
    return Wrong("missing " + missing);
  }

  const Signature& signature_;
  const Schema& schema_;
};

}  // namespace

Result<std::shared_ptr<const Tool>> Tool::Make(ToolDefinition definition, ToolBody body) {
  const auto context = [name = definition.name.substr(0, kMaxName)](Error error) {
    return std::move(error).Context("tool \"" + name + "\"");
  };
  if (auto checked = CheckDefinition(definition); !checked) {
    return context(std::move(checked).error());
  }
  auto input = Schema::Compile(Closed(definition.input_schema));
  if (!input) return context(std::move(input).error().Context("input"));
  std::optional<Schema> output;
  if (definition.output_schema) {
    auto compiled = Schema::Compile(*definition.output_schema);
    if (!compiled) return context(std::move(compiled).error().Context("output"));
    output = *std::move(compiled);
  }
  return std::shared_ptr<const Tool>(
      new Tool(std::move(definition), std::move(body), *std::move(input), std::move(output)));
}

Tool::Tool(ToolDefinition definition, ToolBody body, Schema input, std::optional<Schema> output)
    : definition_(std::move(definition)),
      body_(std::move(body)),
      input_(std::move(input)),
      output_(std::move(output)),
      signature_(MakeSignature(definition_.name, definition_.description, input_,
                               output_ ? &*output_ : nullptr)) {}

std::shared_ptr<const Tool> Tool::AskingAlways() const {
  ToolDefinition definition = definition_;
  definition.approval = Approval::Always();
  return std::shared_ptr<const Tool>(new Tool(std::move(definition), body_, input_, output_));
}

Result<Dict> Tool::Bind(List positional, Dict keywords) const {
  TRY_ASSIGN(Dict arguments,
             Binder(signature_, input_).Bind(std::move(positional), std::move(keywords)));
  TRY(body_.CheckArguments(arguments));
  return arguments;
}

Result<Dict> Tool::Admit(Invocation invocation, ToolRun& run) const {
  Dict arguments = std::move(invocation.keywords);
  if (!invocation.bound) {
    TRY_ASSIGN(arguments, Bind(std::move(invocation.positional), std::move(arguments)));
  }
  if (invocation.consent != Consent::kGiven && NeedsApproval(arguments)) {
    return Error(ErrorCode::kPermissionDenied, name() + ": this call needs an approval");
  }
  std::uint64_t& calls = run.calls_[name()];
  if (definition_.max_calls_per_run && calls >= *definition_.max_calls_per_run) {
    return Error(ErrorCode::kResourceExhausted,
                 name() + ": it may be called " + std::to_string(calls) +
                     (calls == 1 ? " time" : " times") + " in one run");
  }
  ++calls;
  return arguments;
}

Error Tool::Refuse(Error error, ToolRun& run) const {
  if (run.trace_) {
    run.trace_({.tool = name(), .outcome = "refused", .error_type = ToRaised(error).type});
  }
  return error;
}

ToolReply Tool::Finish(ToolReply reply, Clock::time_point start, ToolRun& run) const {
  if (const auto* value = std::get_if<Value>(&reply.answer); value != nullptr && output_) {
    const auto problems = output_->Check(*value);
    if (!problems.empty()) {
      reply = {.answer = ToolRaised{
                   .type = "ValueError",
                   .message = name() + " returned a value that its output schema does not allow: " +
                              problems[0].Text()}};
    }
  }
  if (run.trace_) {
    static constexpr const char* kOutcomes[] = {"returned", "raised", "denied"};
    const auto* raised = std::get_if<ToolRaised>(&reply.answer);
    run.trace_({.tool = name(),
                .outcome = kOutcomes[reply.answer.index()],
                .error_type = raised != nullptr ? raised->type : std::string(),
                .duration = Clock::now() - start});
  }
  return reply;
}

Result<ToolReply> Tool::PerformNow(Invocation invocation, ToolRun& run) const {
  const auto start = Clock::now();
  auto arguments = Admit(std::move(invocation), run);
  if (!arguments) return Refuse(std::move(arguments).error(), run);
  return Finish(body_.CallNow(*arguments), start, run);
}

asio::awaitable<Result<ToolReply>> Tool::Perform(Invocation invocation, ToolRun& run) const {
  StartEffect begin = std::move(invocation.start);
  if (begin && !body_.starts_itself()) {
    if (!co_await begin()) co_return Error(ErrorCode::kCancelled, name() + " may not start here");
  }
  if (is_immediate()) co_return PerformNow(std::move(invocation), run);
  const auto start = Clock::now();
  const auto deadline = std::make_shared<Deadline>(definition_, start);
  CallContext context{
      .caller = run.caller_,
      .idempotency_key = std::move(invocation.idempotency_key),
      .on_progress =
          [deadline, name = name(), tell = run.on_progress_](const ToolProgress& progress) {
            deadline->OnProgress();
            if (tell) tell(name, progress);
          },
      .start = std::move(begin)};
  auto arguments = Admit(std::move(invocation), run);
  if (!arguments) co_return Refuse(std::move(arguments).error(), run);
  auto reply =
      co_await Race(body_.Call(*std::move(arguments), std::move(context)), deadline->Wait());
  if (reply) co_return Finish(*std::move(reply), start, run);
  const bool at_last = definition_.longest && Clock::now() - start >= *definition_.longest;
  const auto seconds =
      std::chrono::duration<double>(at_last ? *definition_.longest : definition_.timeout).count();
  co_return Finish({.answer = ToolRaised{.type = "TimeoutError",
                                         .message = name() + " did not answer within " +
                                                    PythonLiteral(Value(seconds)) +
                                                    " s; its effect may still have happened"}},
                   start, run);
}

Result<ToolAnswer> Tool::InvokeNow(Invocation invocation, ToolRun& run) const {
  auto reply = PerformNow(std::move(invocation), run);
  if (!reply) return std::move(reply).error();
  return std::move(reply->answer);
}

asio::awaitable<Result<ToolAnswer>> Tool::InvokeRaw(Invocation invocation, ToolRun& run) const {
  auto reply = co_await Perform(std::move(invocation), run);
  if (!reply) co_return std::move(reply).error();
  co_return std::move(reply->answer);
}

asio::awaitable<Result<std::vector<Content>>> Tool::Invoke(Invocation invocation,
                                                           ToolRun& run) const {
  auto reply = co_await Perform(std::move(invocation), run);
  if (!reply) co_return std::move(reply).error();
  co_return reply->contents ? *std::move(reply->contents) : ToContents(reply->answer);
}

}  // namespace caisson
