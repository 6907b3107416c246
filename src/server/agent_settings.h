// MakeAgentSettings makes the settings of the configured agents: the tools, policy, mounts and
// limits of their runs. A run remembers the name of its setting, "agent:" and the agent's name, so
// every process that may continue the run makes all of them.
//
// Trust     The operator's configuration.
// Threads   Call at start-up.
// Lifetime  The settings share tools and upstreams.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "server/offered_setting.h"

namespace caisson {

// What agents can name.
struct AgentParts {
  const CodeSetting& setting;  // The service's own, with all its tools.
  const std::map<std::string, std::shared_ptr<Upstream>>& upstreams;  // By name.
  std::string directory;                                              // Base of relative paths.
};

std::string AgentSettingName(const std::string& agent);

// Returns the settings by the names above. An agent has only the tools, upstreams and mounts that
// its table names.
Result<std::map<std::string, std::shared_ptr<const OfferedSetting>>> MakeAgentSettings(
    std::span<const AgentConfig> agents, const AgentParts& parts);

}  // namespace caisson
