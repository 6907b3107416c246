#include "protocol/mcp/code_tools.h"

#include <boost/asio/this_coro.hpp>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "agent/execute_code.h"
#include "agent/instructions.h"
#include "base/guarded.h"
#include "base/low_priority_pool.h"
#include "protocol/mcp/outcome_result.h"
#include "protocol/mcp/output_feed.h"
#include "runs/door_caller.h"
#include "wire/json.h"
#include "wire/object.h"

namespace caisson::mcp {
namespace {

constexpr std::string_view kExecuteCodeInput = R"({
"type":"object",
"properties":{
 "code":{"type":"string","description":"Python to execute."},
 "session":{"type":"string","description":"Run in the session of this name: variables, imports and files are kept between runs."},
 "restart":{"type":"boolean","description":"Start the session again, empty, if it was lost."},
 "fork_of":{"type":"string","description":"Create the session as a copy of this session."},
 "limits":{"type":"object","description":"Limits of this run that differ from the defaults.","properties":{
  "wall_seconds":{"type":"number"},"cpu_seconds":{"type":"number"},"memory_bytes":{"type":"integer"}},
  "additionalProperties":false}},
"additionalProperties":false,
"required":["code"]})";

constexpr std::string_view kWaitForRunInput = R"({
"type":"object",
"properties":{
 "run_id":{"type":"string","description":"The run_id that execute_code returned."},
 "timeout_seconds":{"type":"number","minimum":0,"maximum":60,"description":"Maximum time to wait. Default: 20."}},
"additionalProperties":false,
"required":["run_id"]})";

constexpr std::string_view kWaitForRunDescription =
    "Collects a run of execute_code that waits for a person's approval: waits until it has "
    "finished, needs another approval, or the time is over, and returns its outcome.";

constexpr std::string_view kWaitForRun = "wait_for_run";
constexpr double kUsualWaitSeconds = 20;
// For a run that continues after a decision; its own limits end it long before.
constexpr std::chrono::hours kPatience{1};
constexpr std::size_t kMostTold = 100'000;

Dict Definition(std::string_view name, std::string_view title, std::string description,
                std::string_view input, Dict annotations) {
  return Object({{"name", std::string(name)},
                 {"title", std::string(title)},
                 {"description", std::move(description)},
                 {"inputSchema", *ParseJson(input)},
                 {"outputSchema", OutcomeSchema()},
                 {"annotations", std::move(annotations)}});
}

double SecondsOf(const Value* given, double usual) {
  if (given == nullptr) return usual;
  if (const auto* whole = given->If<std::int64_t>()) return static_cast<double>(*whole);
  const auto* seconds = given->If<double>();
  return seconds == nullptr ? usual : *seconds;
}

// Returns an id as the client wrote it, without quotes.
std::string TextOf(const Value& id) {
  if (const auto* text = id.If<std::string>()) return *text;
  auto number = ToJson(id);
  return number ? *std::move(number) : std::string();
}

class CodeTools {
 public:
  CodeTools(RunService& runs, const ApprovalDialogue& approvals, SettingSource setting,
            std::optional<asio::any_io_executor> cpu_pool)
      : runs_(runs),
        approvals_(approvals),
        setting_(std::move(setting)),
        cpu_pool_(std::move(cpu_pool)) {}

  std::string DescribeFor(const Caller& caller) const { return Description(*SettingOf(caller)); }

  asio::awaitable<Reply> Execute(Use use, Exchange& exchange) const {
    if (use.request_state)
      co_return co_await Resume(std::string(kExecuteCode), std::move(use), exchange);
    auto request = ToRunSpec(use.arguments, exchange);
    if (!request) co_return ErrorResult(request.error().message());
    std::shared_ptr<OutputFeed> feed;
    if (OutputFeed::IsWanted(exchange)) {
      feed = std::make_shared<OutputFeed>(co_await asio::this_coro::executor, exchange);
      request->on_output = [feed](OutputStream stream, std::string_view bytes) {
        feed->OnOutput(stream, bytes);
      };
      request->on_progress = [feed](const std::string& tool, const ToolProgress& progress) {
        feed->OnProgress(tool, progress);
      };
    }
    auto run = co_await runs_.Start(exchange.caller().owner(), *std::move(request));
    if (feed != nullptr) feed->Close();
    co_return co_await Conclude(std::move(run), {std::string(kExecuteCode), use.arguments},
                                exchange);
  }

  asio::awaitable<Reply> WaitForRun(Use use, Exchange& exchange) const {
    if (use.request_state)
      co_return co_await Resume(std::string(kWaitForRun), std::move(use), exchange);
    const RunId id(*FindAs<std::string>(use.arguments, "run_id"));
    const std::chrono::duration<double> wait(
        SecondsOf(use.arguments.Find("timeout_seconds"), kUsualWaitSeconds));
    const auto deadline = std::chrono::steady_clock::now() +
                          std::chrono::duration_cast<std::chrono::nanoseconds>(wait);
    const IsolationKey& owner = exchange.caller().owner();
    auto known = KnownTo(owner, id);
    auto run = co_await runs_.Find(owner, id);
    // If the person can be asked here, a waiting run is asked about at once.
    if (run && !(run->state == RunState::kWaiting && exchange.caller().Can("elicitation"))) {
      run = co_await runs_.Await(owner, id, std::move(known), deadline);
    }
    co_return co_await Conclude(std::move(run), {std::string(kWaitForRun), use.arguments},
                                exchange);
  }

 private:
  std::shared_ptr<const CodeSetting> SettingOf(const Caller& caller) const {
    return setting_.For(caller.principal.caller.get());
  }

  // The arguments have been checked against the schema.
  Result<RunSpec> ToRunSpec(const Dict& arguments, const Exchange& exchange) const {
    RunSpec request{.code = *FindAs<std::string>(arguments, "code")};
    if (const auto* session = FindAs<std::string>(arguments, "session")) request.session = *session;
    if (const bool* restart = FindAs<bool>(arguments, "restart"); restart != nullptr && *restart) {
      request.restart = Restart::kIfLost;
    }
    if (const auto* fork_of = FindAs<std::string>(arguments, "fork_of")) request.fork_of = *fork_of;
    TRY(CheckSession(request));
    TRY_ASSIGN(request.limits, RequestedLimits(arguments, SettingOf(exchange.caller())->limits));
    if (const auto& session = exchange.caller().principal.caller) {
      request.caller = ForRequest(*session, {.message_id = TextOf(exchange.request_id()),
                                             .session = request.session.value_or("")});
    }
    return request;
  }

  // Returns how a run ended, or what it waits for, after asking the person at the client if
  // possible.
  asio::awaitable<Reply> Conclude(Result<RunView> run, StatePurpose purpose,
                                  Exchange& exchange) const {
    const Caller& caller = exchange.caller();
    while (run && run->state == RunState::kWaiting && caller.Can("elicitation")) {
      const RunId id = run->id;
      if (caller.era == Era::kModern) {
        auto question = co_await approvals_.Question(*run, purpose, exchange);
        if (!question) break;
        co_return *std::move(question);
      }
      const auto answered = co_await approvals_.AskNow(*run, exchange);
      if (answered == ApprovalDialogue::Answered::kAll) {
        run = co_await runs_.Await(caller.owner(), id, ApprovalIds(*run),
                                   std::chrono::steady_clock::now() + kPatience);
      } else if (!exchange.is_unwanted()) {
        break;
      }
      if (exchange.is_unwanted()) run = co_await runs_.Cancel(caller.owner(), id);
    }
    if (run) {
      const auto load = [this, owner = caller.owner(), id = run->id](std::uint32_t number) {
        return runs_.File(owner, id, number);
      };
      run = co_await WithFiles(*std::move(run), load);
    }
    if (!run) co_return FailureReply(run.error());
    Remember(caller.owner(), *run);
    const std::size_t work = OutcomeWork(*run);
    co_return co_await CallAside(cpu_pool_, work,
                                 [run = *std::move(run), version = caller.version] {
                                   Dict result = OutcomeResult(run, version);
                                   if (run.state == RunState::kWaiting) AddOtherWays(run, result);
                                   return result;
                                 });
  }

  // A modern client repeats the request with the answers.
  asio::awaitable<Reply> Resume(std::string tool, Use use, Exchange& exchange) const {
    StatePurpose purpose{.tool = std::move(tool), .arguments = std::move(use.arguments)};
    const auto answers =
        co_await approvals_.TakeAnswers(*use.request_state, purpose, use.input_responses, exchange);
    if (!answers) {
      if (answers.error().code() == ErrorCode::kInvalidArgument) {
        co_return InvalidParams(answers.error().message());
      }
      co_return FailureReply(answers.error());
    }
    const IsolationKey& owner = exchange.caller().owner();
    // If questions are left, the run may not continue, so they are asked again.
    auto run = answers->answered == ApprovalDialogue::Answered::kAll
                   ? runs_.Await(owner, answers->run, answers->approvals,
                                 std::chrono::steady_clock::now() + kPatience)
                   : runs_.Find(owner, answers->run);
    co_return co_await Conclude(co_await std::move(run), std::move(purpose), exchange);
  }

  // Returns the approvals that wait_for_run need not report again: it waits for new ones.
  std::set<std::string> KnownTo(const IsolationKey& owner, const RunId& run) const {
    auto told = told_.Lock();
    const auto found = told->find({owner, run});
    return found == told->end() ? std::set<std::string>() : found->second;
  }
  void Remember(const IsolationKey& owner, const RunView& run) const {
    auto told = told_.Lock();
    if (told->size() >= kMostTold) told->clear();
    if (run.state == RunState::kWaiting) {
      (*told)[{owner, run.id}].merge(ApprovalIds(run));
    } else {
      told->erase({owner, run.id});
    }
  }

  RunService& runs_;
  const ApprovalDialogue& approvals_;
  const SettingSource setting_;
  const std::optional<asio::any_io_executor> cpu_pool_;
  // The approvals that the owner's clients were told of. The oldest are dropped when there are
  // many; then one is reported again.
  mutable Guarded<std::map<std::pair<IsolationKey, RunId>, std::set<std::string>>> told_;
};

}  // namespace

std::vector<ToolFeature> MakeCodeTools(RunService& runs, const ApprovalDialogue& approvals,
                                       SettingSource setting,
                                       std::optional<asio::any_io_executor> cpu_pool) {
  const auto tools = std::make_shared<const CodeTools>(runs, approvals, std::move(setting),
                                                       std::move(cpu_pool));  // Shared by both.
  std::vector<ToolFeature> features;
  features.push_back(
      {.definition = Definition(
           kExecuteCode, "Execute Python", "", kExecuteCodeInput,
           Object({{"readOnlyHint", false}, {"destructiveHint", true}, {"openWorldHint", true}})),
       .call = [tools](Use use,
                       Exchange& exchange) { return tools->Execute(std::move(use), exchange); },
       .description = [tools](const Caller& caller) { return tools->DescribeFor(caller); }});
  features.push_back(
      {.definition = Definition(kWaitForRun, "Wait for a run", std::string(kWaitForRunDescription),
                                kWaitForRunInput, Object({{"readOnlyHint", true}})),
       .call = [tools](Use use, Exchange& exchange) {
         return tools->WaitForRun(std::move(use), exchange);
       }});
  return features;
}

}  // namespace caisson::mcp
