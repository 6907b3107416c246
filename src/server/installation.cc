#include "server/installation.h"

#include <filesystem>
#include <system_error>
#include <vector>

namespace caisson {
namespace {

namespace fs = std::filesystem;

bool IsFile(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

Result<std::vector<fs::path>> PlacesToLook(const std::string& directory) {
  if (!directory.empty()) return std::vector<fs::path>{directory};
  std::error_code failed;
  const fs::path program = fs::read_symlink("/proc/self/exe", failed);
  if (failed) return Error::FromErrno(failed.value(), "read /proc/self/exe");
  const fs::path bin = program.parent_path();
  return std::vector<fs::path>{bin, bin.parent_path() / "libexec" / "caisson"};
}

}  // namespace

Result<Installation> FindInstallation(const std::string& directory) {
  TRY_ASSIGN(const std::vector<fs::path> places, PlacesToLook(directory));
  std::string looked;
  for (const fs::path& place : places) {
    const fs::path worker = place / "caisson-worker";
    const fs::path base = place / "caisson.base";
    if (IsFile(worker) && IsFile(base)) {
      const fs::path fork_server = place / "caisson-forkserver";
      return Installation{.worker_path = worker.string(),
                          .base_path = base.string(),
                          .fork_server_path = IsFile(fork_server) ? fork_server.string() : ""};
    }
    // If only one of the two exists, the installation is broken. Name the missing file; do not mix
    // two installations.
    if (IsFile(worker)) return Error(ErrorCode::kNotFound, "there is no " + base.string());
    if (IsFile(base)) return Error(ErrorCode::kNotFound, "there is no " + worker.string());
    looked += (looked.empty() ? "" : " or ") + place.string();
  }
  return Error(ErrorCode::kNotFound,
               "there is no caisson-worker with its caisson.base in " + looked);
}

}  // namespace caisson
