#include "server/configured_tools.h"

#include <filesystem>
#include <utility>

#include "agent/execute_code.h"
#include "server/secrets.h"
#include "tools/http/http.h"
#include "wire/canonical_json.h"

namespace caisson {
namespace {

// Relative paths are relative to the configuration file.
std::string Beside(const Config& config, const std::string& path) {
  return (std::filesystem::path(config.directory) / path).string();
}

}  // namespace

Result<Approval> MakeApproval(const ApprovalConfig& approval) {
  using Mode = ApprovalConfig::Mode;
  if (approval.mode == Mode::kNever) return Approval::Never();
  if (approval.mode == Mode::kAlways) return Approval::Always();
  auto rule = Schema::Compile(approval.schema);
  if (!rule) return std::move(rule).error().Context("approval");
  return approval.mode == Mode::kWhen ? Approval::When(*std::move(rule))
                                      : Approval::Unless(*std::move(rule));
}

namespace {

Result<ToolBody> MakeCommand(const CommandToolConfig& tool, const Config& config,
                             const ToolResources& resources) {
  ChildVariables variables{.own = {tool.env.begin(), tool.env.end()}};
  variables.inherit.insert(variables.inherit.end(), tool.inherit_env.begin(),
                           tool.inherit_env.end());
  // A value that no environment can hold is the operator's mistake; report it now.
  TRY(ChildEnvironment::Build(CallerContext(resources.host), variables));
  CommandSpec spec{.argv = tool.command,
                   .directory = Beside(config, tool.directory),
                   .variables = std::move(variables),
                   .host = &resources.host,
                   .starter = resources.starter};
  if (tool.max_output_bytes) spec.max_output_bytes = *tool.max_output_bytes;
  return Command(std::move(spec), resources.io, resources.log);
}

// The program, its directory and its variables decide what a command does. All of them come from
// the operator.
Result<std::string> Revision(const CommandToolConfig& tool) {
  List argv;
  for (const std::string& word : tool.command) argv.items.emplace_back(word);
  List environment;
  for (const std::string& name : tool.inherit_env) environment.items.emplace_back(name);
  for (const auto& [name, value] : tool.env) {
    environment.items.emplace_back(List{{Value(name), Value(value)}});
  }
  return CanonicalJson(List{{Value(argv), Value(tool.directory), Value(environment)}});
}

Result<ToolBody> MakeHttp(const HttpToolSpec& spec, const ToolResources& resources) {
  return Http(spec, resources.io, SystemResolver(resources.pool));
}

Result<HttpToolSpec> HttpSpec(const HttpToolConfig& tool, const Config& config,
                              const ToolResources& resources) {
  HttpToolSpec spec;
  for (const HttpRuleConfig& rule : tool.rules) {
    HttpRuleSpec& made = spec.rules.emplace_back();
    made.url = rule.url;
    made.methods = rule.methods;
    made.private_hosts = rule.allow_private ? PrivateHosts::kAllow : PrivateHosts::kRefuse;
    for (const SecretHeaderConfig& header : rule.headers) {
      TRY_ASSIGN(const std::string secret,
                 FetchSecret(header.value, config.directory, resources.host.start_environment()));
      made.secret_headers.emplace_back(header.name, header.prefix + secret);
    }
  }
  if (tool.max_response_bytes) spec.max_response_bytes = *tool.max_response_bytes;
  if (tool.max_request_bytes) spec.max_request_bytes = *tool.max_request_bytes;
  if (tool.max_redirects) spec.max_redirects = static_cast<int>(*tool.max_redirects);
  spec.calls_per_minute = tool.calls_per_minute;
  return spec;
}

Result<ToolDefinition> MakeDefinition(const ToolConfig& tool) {
  if (tool.name == kExecuteCode || tool.name == "call_tool") {
    return Error(ErrorCode::kInvalidArgument,
                 "another tool is already named " + tool.name + "; choose another name");
  }
  ToolDefinition definition{.name = tool.name, .description = tool.description};
  TRY_ASSIGN(definition.approval, MakeApproval(tool.approval));
  if (tool.input_schema) definition.input_schema = *tool.input_schema;
  definition.output_schema = tool.output_schema;
  definition.repeat = tool.idempotent ? Repeat::kIdempotent : Repeat::kUnsafe;
  definition.max_calls_per_run = tool.max_calls;
  if (tool.timeout) definition.timeout = *tool.timeout;
  return definition;
}

Result<std::shared_ptr<const Tool>> MakeTool(const ToolConfig& tool, const Config& config,
                                             const ToolResources& resources) {
  TRY_ASSIGN(ToolDefinition definition, MakeDefinition(tool));
  if (tool.kind == ToolConfig::Kind::kCommand) {
    TRY_ASSIGN(definition.revision, Revision(tool.command));
    TRY_ASSIGN(ToolBody body, MakeCommand(tool.command, config, resources));
    return Tool::Make(std::move(definition), std::move(body));
  }
  TRY_ASSIGN(const HttpToolSpec spec, HttpSpec(tool.http, config, resources));
  definition.input_schema = HttpInputSchema();
  definition.description += (definition.description.empty() ? "" : " ") + HttpDescription(spec);
  TRY_ASSIGN(ToolBody body, MakeHttp(spec, resources));
  return Tool::Make(std::move(definition), std::move(body));
}

}  // namespace

Result<void> CheckTool(const ToolConfig& tool) {
  TRY_ASSIGN(ToolDefinition definition, MakeDefinition(tool));
  TRY(Tool::Make(std::move(definition), Inline([](const Dict&) { return Value(); })));
  return {};
}

Result<std::vector<std::shared_ptr<const Tool>>> MakeTools(const Config& config,
                                                           const ToolResources& resources) {
  std::vector<std::shared_ptr<const Tool>> tools;
  for (const ToolConfig& tool : config.tools) {
    auto made = MakeTool(tool, config, resources);
    if (!made) return std::move(made).error().Context("[[tool]] " + tool.name);
    tools.push_back(*std::move(made));
  }
  return tools;
}

}  // namespace caisson
