#include "server/config_checks.h"

#include "server/code_service.h"
#include "server/configured_tools.h"
#include "workspace/mount.h"

namespace caisson {

ConfigChecks ChecksOfAStart() {
  return {.tool = CheckTool,
          .mount = [](const MountConfig& mount, const std::string& directory) -> Result<void> {
            TRY(workspace::OpenMounts({ToMountSpec(mount, directory)}, {}));
            return {};
          }};
}

}  // namespace caisson
