#include "server/config_checks.h"

#include "server/code_service.h"
#include "server/configured_agents.h"
#include "server/configured_tools.h"
#include "server/open_store.h"
#include "workspace/mount.h"

namespace caisson {

ConfigChecks ChecksOfAStart() {
  return {.tool = CheckTool,
          .mounts =
              [](std::span<const MountConfig> mounts, const Config& config) {
                std::vector<workspace::MountSpec> specs;
                for (const MountConfig& mount : mounts) {
                  specs.push_back(ToMountSpec(mount, config.directory));
                }
                return workspace::CheckMounts(std::move(specs), StoreFiles(config));
              },
          .model = CheckModel,
          .agent = CheckAgent};
}

}  // namespace caisson
