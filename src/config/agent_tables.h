// Reads the tables [[model]], [[agent]] and [[workflow]].
//
// Trust     The operator's own file.
// Threads   One.
// Lifetime  The functions keep nothing.
#pragma once

#include <functional>
#include <string>

#include "config/config.h"
#include "config/table_reader.h"

namespace caisson {

ModelConfig ReadModel(const toml::table& source, const std::string& name, Problems& problems);

// Called for each [[agent.mount]] that was read, with its table and name.
using OnMountTable = std::function<void(const toml::table&, const std::string&)>;

// `config` has the rest of the file: its limits, models, tools and upstreams.
AgentConfig ReadAgent(const toml::table& source, const std::string& name, const Config& config,
                      Problems& problems, const OnMountTable& on_mount);

WorkflowConfig ReadWorkflow(TableReader table);

}  // namespace caisson
