#include "server/agent_settings.h"

#include <algorithm>
#include <utility>

#include "server/code_service.h"

namespace caisson {
namespace {

Error NoSuch(const AgentConfig& agent, const std::string& what, const std::string& name) {
  return Error(ErrorCode::kInvalidArgument, "[[agent]] " + agent.name + ": there is no " + what +
                                                " \"" + name + "\" in the configuration");
}

Result<std::shared_ptr<const OfferedSetting>> MakeSetting(const AgentConfig& agent,
                                                          const AgentParts& parts) {
  std::vector<std::shared_ptr<const Tool>> tools;
  for (const std::string& name : agent.tools) {
    const auto& all = parts.setting.tools->tools();
    const auto found = std::ranges::find(all, name, [](const auto& tool) { return tool->name(); });
    if (found == all.end()) return NoSuch(agent, "tool", name);
    tools.push_back(*found);
  }
  std::vector<std::shared_ptr<Upstream>> upstreams;
  for (const std::string& name : agent.upstreams) {
    const auto found = parts.upstreams.find(name);
    if (found == parts.upstreams.end()) return NoSuch(agent, "upstream", name);
    upstreams.push_back(found->second);
  }
  CodeSetting setting = parts.setting;
  setting.tools = std::make_shared<const ToolSet>(std::move(tools));
  setting.limits = agent.limits.value_or(setting.limits);
  setting.policy = agent.policy.value_or(setting.policy);
  setting.mounts.clear();
  for (const MountConfig& mount : agent.mounts) {
    setting.mounts.push_back(ToMountSpec(mount, parts.directory));
  }
  if (auto checked = CheckLimits(setting.limits, setting.ceiling); !checked) {
    return std::move(checked).error().Context("[[agent]] " + agent.name);
  }
  using Asks = OfferedSetting::Asks;
  return std::make_shared<const OfferedSetting>(
      std::move(setting), std::move(upstreams),
      agent.approval == AgentConfig::Approval::kAlways ? Asks::kAlways : Asks::kAsToolsSay);
}

}  // namespace

std::string AgentSettingName(const std::string& agent) {
  return "agent:" + agent;
}

Result<std::map<std::string, std::shared_ptr<const OfferedSetting>>> MakeAgentSettings(
    std::span<const AgentConfig> agents, const AgentParts& parts) {
  std::map<std::string, std::shared_ptr<const OfferedSetting>> settings;
  for (const AgentConfig& agent : agents) {
    TRY_ASSIGN(settings[AgentSettingName(agent.name)], MakeSetting(agent, parts));
  }
  return settings;
}

}  // namespace caisson
