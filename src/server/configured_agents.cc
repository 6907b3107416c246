#include "server/configured_agents.h"

#include <chrono>
#include <filesystem>
#include <optional>
#include <utility>

#include "model/make_model.h"
#include "server/agent_settings.h"
#include "server/secrets.h"
#include "tools/http/client.h"
#include "tools/http/proxy.h"

namespace caisson {
namespace {

constexpr std::size_t kMaxInstructions = 256u << 10;

using Addresses = Result<std::vector<asio::ip::address>>;
using Models = std::map<std::string, std::shared_ptr<model::Model>>;

model::ModelKind KindOf(ModelConfig::Kind kind) {
  switch (kind) {
    case ModelConfig::Kind::kOpenAiChat:
      return model::ModelKind::kOpenAiChat;
    case ModelConfig::Kind::kOpenAiResponses:
      return model::ModelKind::kOpenAiResponses;
    case ModelConfig::Kind::kAnthropic:
      return model::ModelKind::kAnthropic;
    case ModelConfig::Kind::kDemo:
      break;
  }
  return model::ModelKind::kDemo;
}

void SetTime(std::chrono::milliseconds& time, const std::optional<std::chrono::nanoseconds>& to) {
  if (to) time = std::chrono::ceil<std::chrono::milliseconds>(*to);
}

// The options without the key and the resolver.
model::ModelOptions OptionsOf(const ModelConfig& config, const std::string& directory) {
  using Options = model::ModelOptions;
  Options options{.kind = KindOf(config.kind), .base_url = config.base_url, .model = config.model};
  if (!config.stream) options.streaming = Options::Streaming::kOff;
  if (config.plain_http) options.plain_http = Options::PlainHttp::kAnyHost;
  if (!config.certificates.empty()) {
    options.certificates = std::filesystem::path(directory) / config.certificates;
  }
  SetTime(options.times.connect, config.connect);
  SetTime(options.times.first_byte, config.first_byte);
  SetTime(options.times.idle, config.idle);
  SetTime(options.times.total, config.total);
  if (config.attempts) options.attempts = static_cast<std::uint32_t>(*config.attempts);
  if (config.max_output_tokens) options.max_output_tokens = *config.max_output_tokens;
  return options;
}

bool IsGiven(const SecretReference& secret) {
  return !secret.environment.empty() || !secret.file.empty();
}

Result<std::shared_ptr<model::Model>> MakeModelOf(const ModelConfig& config,
                                                  const std::string& directory,
                                                  const AgentResources& resources) {
  model::ModelOptions options = OptionsOf(config, directory);
  if (IsGiven(config.key)) {
    TRY_ASSIGN(options.key, FetchSecret(config.key, directory, resources.environment));
  }
  // Servers without TLS are near, and reached directly.
  const bool may_need_proxy =
      options.kind != model::ModelKind::kDemo && !options.base_url.starts_with("http://");
  if (may_need_proxy) {
    TRY_ASSIGN(options.proxy, HttpProxy::Read(resources.environment));
  }
  options.resolver = SystemResolver(resources.pool);
  return model::MakeModel(std::move(options));
}

Result<Models> MakeModels(const Config& config, const AgentResources& resources) {
  Models models;
  for (const ModelConfig& each : config.models) {
    auto made = MakeModelOf(each, config.directory, resources);
    if (!made) return std::move(made).error().Context("[[model]] " + each.name);
    models.emplace(each.name, *std::move(made));
  }
  return models;
}

Result<std::string> InstructionsOf(const AgentConfig& agent, const std::string& directory) {
  if (agent.instructions_file.empty()) return agent.instructions;
  TRY_ASSIGN(std::string text, ReadBeside(directory, agent.instructions_file));
  if (text.size() > kMaxInstructions) {
    return Error(ErrorCode::kInvalidArgument,
                 agent.instructions_file + " is too long for instructions; at most 262144 bytes");
  }
  return text;
}

TurnLimits LimitsOf(const AgentTurnConfig& turn) {
  TurnLimits limits;
  const auto set = [](std::uint32_t& limit, const std::optional<std::uint64_t>& to) {
    if (to) limit = static_cast<std::uint32_t>(*to);  // At most 10,000 (config/agent_tables.cc).
  };
  set(limits.iterations, turn.iterations);
  set(limits.consecutive_errors, turn.consecutive_errors);
  set(limits.calls, turn.calls);
  limits.tokens = turn.tokens.value_or(limits.tokens);
  if (turn.wall) limits.wall = std::chrono::ceil<std::chrono::seconds>(*turn.wall);
  return limits;
}

Result<std::shared_ptr<const Agent>> MakeAgent(const AgentConfig& config, const Models& models,
                                               const std::string& directory,
                                               const AgentResources& resources) {
  const auto model = models.find(config.model);
  if (model == models.end()) {
    return Error(ErrorCode::kInvalidArgument, "there is no [[model]] \"" + config.model + "\"");
  }
  const auto setting = resources.settings.find(AgentSettingName(config.name));
  if (setting == resources.settings.end()) {
    return Error(ErrorCode::kInternal, "the agent has no setting");
  }
  TRY_ASSIGN(std::string instructions, InstructionsOf(config, directory));
  return std::make_shared<const Agent>(Agent{
      .name = config.name,
      .description = config.description,
      .model = model->second,
      .instructions = std::move(instructions),
      .code = config.code ? Agent::Code::kOn : Agent::Code::kOff,
      .setting = setting->second,
      .limits = LimitsOf(config.turn),
  });
}

}  // namespace

Result<std::vector<std::shared_ptr<const Agent>>> MakeAgents(const Config& config,
                                                             const AgentResources& resources) {
  std::vector<std::shared_ptr<const Agent>> agents;
  TRY_ASSIGN(const Models models, MakeModels(config, resources));
  for (const AgentConfig& each : config.agents) {
    auto made = MakeAgent(each, models, config.directory, resources);
    if (!made) return std::move(made).error().Context("[[agent]] " + each.name);
    agents.push_back(*std::move(made));
  }
  return agents;
}

Result<void> CheckModel(const ModelConfig& model, const Config& config) {
  model::ModelOptions options = OptionsOf(model, config.directory);
  options.resolver = [](std::string) -> asio::awaitable<Addresses> {
    co_return Addresses(std::vector<asio::ip::address>());
  };
  TRY(model::MakeModel(std::move(options)));
  return {};
}

Result<void> CheckAgent(const AgentConfig& agent, const Config& config) {
  TRY(InstructionsOf(agent, config.directory));
  return {};
}

}  // namespace caisson
