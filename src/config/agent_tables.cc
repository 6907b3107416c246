#include "config/agent_tables.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/closest.h"
#include "config/run_tables.h"
#include "policy/toml.h"

namespace caisson {
namespace {

constexpr std::size_t kMaxNameBytes = 64;
constexpr std::uint64_t kMostTurnSteps = 10'000;
constexpr std::uint64_t kMostAttempts = 10;

// Names of agents and workflows are parts of URLs, file names and keys in the store.
bool IsPlainName(std::string_view name) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  };
  return !name.empty() && name.size() <= kMaxNameBytes && name.front() != '.' &&
         std::ranges::all_of(name, is_plain);
}

void ReadName(TableReader& table, std::string& name) {
  table.Read("name", name);
  table.Require("name");
  if (!name.empty() && !IsPlainName(name)) {
    table.Complain("name",
                   "must be at most 64 letters, digits, \"-\", \"_\" and \".\", and must not begin "
                   "with \".\"");
  }
}

template <typename T>
std::vector<std::string_view> NamesOf(const std::vector<T>& items) {
  std::vector<std::string_view> names;
  for (const T& item : items) names.push_back(item.name);
  return names;
}

// Reports each of `used` that is not among `names`. `what`: the name of their tables.
void CheckReferences(TableReader& table, std::string_view key, std::string_view what,
                     const std::vector<std::string>& used,
                     const std::vector<std::string_view>& names) {
  for (const std::string& name : used) {
    if (name.empty() || std::ranges::find(names, name) != names.end()) continue;
    table.Complain(key, "names \"" + name + "\", but there is no [[" + std::string(what) +
                            "]] of this name" + DidYouMean(name, names));
  }
}

AgentTurnConfig ReadTurn(TableReader table) {
  AgentTurnConfig turn;
  table.Read("iterations", turn.iterations);
  table.Read("consecutive_errors", turn.consecutive_errors);
  table.Read("calls", turn.calls);
  table.Read("tokens", turn.tokens);
  table.ReadSeconds("wall_seconds", turn.wall);
  for (const auto& [key, value] :
       {std::pair{"iterations", turn.iterations},
        std::pair{"consecutive_errors", turn.consecutive_errors}, std::pair{"calls", turn.calls}}) {
    if (value > kMostTurnSteps) table.Complain(key, "must be at most 10000");
  }
  table.Finish();
  return turn;
}

void ReadInstructions(TableReader& table, AgentConfig& agent) {
  table.Read("instructions", agent.instructions);
  table.Read("instructions_file", agent.instructions_file);
  if (!agent.instructions.empty() && !agent.instructions_file.empty()) {
    table.Complain("instructions_file", "and instructions cannot both be given");
  }
}

// Reads what the runs of an agent may use.
void ReadRuns(TableReader& table, const std::string& name, const Config& config, AgentConfig& agent,
              Problems& problems) {
  if (const toml::table* source = table.Table("policy")) {
    auto policy = ParsePolicy(*source);
    if (!policy) problems.Add(*source, name + ".policy: " + policy.error().message());
    if (policy) agent.policy = *std::move(policy);
  }
  if (const toml::table* source = table.Table("limits")) {
    Limits limits = config.limits;
    ReadLimits(*source, name + ".limits", config.max_limits, limits, problems);
    agent.limits = limits;
  }
  table.Read("tools", agent.tools);
  table.Read("upstreams", agent.upstreams);
  CheckReferences(table, "tools", "tool", agent.tools, NamesOf(config.tools));
  CheckReferences(table, "upstreams", "upstream", agent.upstreams, NamesOf(config.upstreams));
}

}  // namespace

ModelConfig ReadModel(const toml::table& source, const std::string& name, Problems& problems) {
  using Kind = ModelConfig::Kind;
  TableReader table(source, name, problems);
  ModelConfig model;
  ReadName(table, model.name);
  table.ReadChoice<Kind>("kind", model.kind,
                         {{"openai-chat", Kind::kOpenAiChat},
                          {"openai-responses", Kind::kOpenAiResponses},
                          {"anthropic", Kind::kAnthropic},
                          {"demo", Kind::kDemo}});
  table.Require("kind");
  table.Read("base_url", model.base_url);
  table.Read("model", model.model);
  table.ReadSecret("key", model.key);
  table.Read("certificates", model.certificates);
  table.ReadSeconds("connect_seconds", model.connect);
  table.ReadSeconds("first_byte_seconds", model.first_byte);
  table.ReadSeconds("idle_seconds", model.idle);
  table.ReadSeconds("total_seconds", model.total);
  table.Read("attempts", model.attempts);
  if (model.attempts > kMostAttempts) table.Complain("attempts", "must be at most 10");
  table.Read("stream", model.stream);
  table.Read("plain_http", model.plain_http);
  table.Read("max_output_tokens", model.max_output_tokens);
  if (model.kind != Kind::kDemo) table.Require("model");
  const bool is_http =
      model.base_url.starts_with("https://") || model.base_url.starts_with("http://");
  if (!model.base_url.empty() && !is_http) {
    table.Complain("base_url", "must begin with https:// or http://");
  }
  if (model.base_url.find('@') != std::string::npos) {
    table.Complain("base_url", "must not contain a user or a key; use key_env or key_file");
  }
  table.Finish();
  return model;
}

AgentConfig ReadAgent(const toml::table& source, const std::string& name, const Config& config,
                      Problems& problems, const OnMountTable& on_mount) {
  TableReader table(source, name, problems);
  AgentConfig agent;
  ReadName(table, agent.name);
  table.Read("description", agent.description);
  table.Read("model", agent.model);
  table.Require("model");
  CheckReferences(table, "model", "model", {agent.model}, NamesOf(config.models));
  ReadInstructions(table, agent);
  table.Read("code", agent.code);
  ReadRuns(table, name, config, agent, problems);
  table.EachTable("mount", [&](const toml::table& mount, const std::string& mount_name) {
    agent.mounts.push_back(ReadMount(TableReader(mount, mount_name, problems)));
    on_mount(mount, mount_name);
  });
  using Approval = AgentConfig::Approval;
  table.ReadChoice<Approval>("approval", agent.approval,
                             {{"tools", Approval::kTools}, {"always", Approval::kAlways}});
  if (const toml::table* turn = table.Table("turn")) {
    agent.turn = ReadTurn(TableReader(*turn, name + ".turn", problems));
  }
  table.Finish();
  return agent;
}

WorkflowConfig ReadWorkflow(TableReader table) {
  WorkflowConfig workflow;
  ReadName(table, workflow.name);
  table.Read("file", workflow.file);
  table.Require("file");
  table.Finish();
  return workflow;
}

}  // namespace caisson
