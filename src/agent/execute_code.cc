#include "agent/execute_code.h"

#include <chrono>
#include <string_view>
#include <utility>

#include "agent/outcome_contents.h"
#include "wire/json.h"

namespace caisson {
namespace {

// The limits of the run bound it. The time that it waits for a person's approval is not limited.
constexpr std::chrono::hours kNoTimeout{24 * 365};

constexpr std::string_view kCodeSchema =
    R"("code":{"type":"string","description":"Python to execute."})";
constexpr std::string_view kSessionSchema =
    R"("session":{"type":"string","description":"Run in the session of this name: variables, imports and files are kept between runs."},)"
    R"("restart":{"type":"boolean","description":"Start the session again, empty, if it was lost."},)"
    R"("fork_of":{"type":"string","description":"Create the session as a copy of this session."})";
constexpr std::string_view kLimitsSchema =
    R"("limits":{"type":"object","description":"Limits of this run that differ from the defaults.","properties":{)"
    R"("wall_seconds":{"type":"number"},"cpu_seconds":{"type":"number"},"memory_bytes":{"type":"integer"}},)"
    R"("additionalProperties":false})";

// The arguments have been checked against the schema.
Result<CellRun> ToRequest(const ExecuteCodeOptions& options, const Dict& given) {
  CellRun request{.owner = options.owner,
                  .code = *given.Find("code")->If<std::string>(),
                  .setting = options.setting,
                  .consent = options.consent,
                  .trace = options.trace};
  TRY_ASSIGN(request.limits, RequestedLimits(given, options.setting->limits));
  if (const Value* session = given.Find("session")) {
    const Value* restart = given.Find("restart");
    request.session = SessionRequest{.name = *session->If<std::string>()};
    if (restart != nullptr && *restart == Value(true)) request.session->restart = Restart::kIfLost;
    if (const Value* fork_of = given.Find("fork_of")) {
      request.session->fork_of = *fork_of->If<std::string>();
    }
  }
  return request;
}

ToolReply Shown(Result<CodeRun> run) {
  if (!run) return {.answer = ToRaised(run.error())};
  // The outcome object contains only JSON values.
  DecodeBudget budget(kAnyDecodedBytes);  // The run's limits bound it.
  auto outcome = ParseJson(ToJson(run->outcome, FileData::kInclude), budget);
  if (!outcome) return {.answer = ToRaised(outcome.error())};
  return {.answer = *std::move(outcome), .contents = ToContents(*run)};
}

}  // namespace

Value ExecuteCodeSchema(ExecuteCodeOptions::Sessions sessions) {
  std::string json = R"({"type":"object","properties":{)";
  json.append(kCodeSchema).append(",");
  if (sessions == ExecuteCodeOptions::Sessions::kOffered) json.append(kSessionSchema).append(",");
  json.append(kLimitsSchema).append(R"(},"required":["code"]})");
  return *ParseJson(json);
}

Result<std::optional<Limits>> RequestedLimits(const Dict& arguments, const Limits& usual) {
  const Value* given = arguments.Find("limits");
  if (given == nullptr) return std::optional<Limits>();
  Limits limits = usual;
  for (const auto& [name, value] : given->If<Dict>()->items) {
    TRY_ASSIGN(const std::string number, ToJson(value));
    TRY(SetLimit(limits, *name.If<std::string>(), number));
  }
  return std::optional(limits);
}

Result<std::shared_ptr<const Tool>> MakeExecuteCodeTool(CodeRunner& runner,
                                                        ExecuteCodeOptions options) {
  ToolDefinition definition{.name = std::string(kExecuteCode),
                            .description = options.description,
                            .input_schema = ExecuteCodeSchema(options.sessions),
                            .approval = options.approval,
                            .timeout = kNoTimeout};
  auto execute = [&runner, options = std::move(options)](Dict given) -> asio::awaitable<ToolReply> {
    auto request = ToRequest(options, given);
    if (!request) co_return Shown(std::move(request).error());
    co_return Shown(co_await runner.Run(*std::move(request)));
  };
  return Tool::Make(std::move(definition), Awaitable(std::move(execute)));
}

}  // namespace caisson
