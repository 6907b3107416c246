// MakeAgents makes the agents of a configuration, with clients of their models.
//
// Trust     The operator's configuration. Keys are read here once and given to the model clients.
// Threads   Call at start-up. Reads files.
// Lifetime  `pool` runs, and the owner of the settings lives, until the last turn has ended.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/agent.h"
#include "base/result.h"
#include "caller/caller_context.h"
#include "config/config.h"
#include "runs/setting_source.h"

namespace caisson {

struct AgentResources {
  asio::any_io_executor pool;  // Resolves host names; may block.
  const EnvironmentMap& environment;
  std::map<std::string, SettingSource> settings;  // By the names of server/agent_settings.h.
};

// Returns the agents in the order of the file. Models that several agents name are shared. The
// error names the table and its mistake.
Result<std::vector<std::shared_ptr<const Agent>>> MakeAgents(const Config& config,
                                                             const AgentResources& resources);

// Checks a model, or the files of an agent, as far as that is possible without a key and without a
// server.
Result<void> CheckModel(const ModelConfig& model, const Config& config);
Result<void> CheckAgent(const AgentConfig& agent, const Config& config);

}  // namespace caisson
