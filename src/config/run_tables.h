// Reads tables that describe runs: limits and mounts.
//
// Trust     The operator's own file.
// Threads   One.
// Lifetime  Keeps nothing.
#pragma once

#include <string_view>

#include "config/config.h"
#include "config/table_reader.h"

namespace caisson {

// Changes `limits` as the table says. `most`: the upper bounds of the limits of this table.
void ReadLimits(const toml::table& table, std::string_view name, const Limits& most, Limits& limits,
                Problems& problems);

MountConfig ReadMount(TableReader table);

}  // namespace caisson
