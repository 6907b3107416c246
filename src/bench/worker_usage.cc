#include "bench/worker_usage.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace caisson::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kKibibyte = 1024;

Error NoProc(const std::string& what) {
  return Error(ErrorCode::kUnavailable, "/proc does not show " + what);
}

std::string ReadAll(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return std::move(text).str();
}

// Returns the number after "NAME:" in a status file.
std::optional<std::uint64_t> Field(std::string_view status, std::string_view name) {
  const std::size_t at = status.find(name);
  if (at == status.npos) return std::nullopt;
  status.remove_prefix(at + name.size());
  status.remove_prefix(std::min(status.find_first_of("0123456789"), status.size()));
  std::uint64_t number = 0;
  const auto parsed = std::from_chars(status.data(), status.data() + status.size(), number);
  return parsed.ec == std::errc() ? std::optional(number) : std::nullopt;
}

std::optional<std::uint64_t> PrivateBytes(std::string_view status) {
  const auto pages = Field(status, "RssAnon:");
  const auto tables = Field(status, "VmPTE:");
  if (!pages || !tables) return std::nullopt;
  return (*pages + *tables) * kKibibyte;
}

std::vector<fs::path> ChildrenOf(std::uint64_t parent) {
  std::vector<fs::path> children;
  std::error_code ignored;  // Processes start and end while they are listed.
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != name.npos) continue;
    if (Field(ReadAll(entry.path() / "status"), "\nPPid:") == parent)
      children.push_back(entry.path());
  }
  return children;
}

std::vector<fs::path> Children() {
  return ChildrenOf(static_cast<std::uint64_t>(::getpid()));
}

std::vector<fs::path> Descendants(const fs::path& process) {
  std::vector<fs::path> all = ChildrenOf(std::stoull(process.filename().string()));
  for (std::size_t i = 0; i < all.size(); ++i) {  // `all` grows during the loop.
    const auto children = ChildrenOf(std::stoull(all[i].filename().string()));
    all.insert(all.end(), children.begin(), children.end());
  }
  return all;
}

// Returns the number of pid namespaces of a process; a cell has one more than its fork server.
std::size_t PidNamespaces(const fs::path& process) {
  const std::string status = ReadAll(process / "status");
  const std::size_t at = status.find("\nNSpid:");
  if (at == status.npos) return 0;
  const auto line = std::string_view(status).substr(at + 1, status.find('\n', at + 1) - at - 1);
  return static_cast<std::size_t>(std::ranges::count(line, '\t'));
}

}  // namespace

Result<std::uint64_t> ReadWorkerBytes() {
  std::optional<std::uint64_t> sum;
  for (const fs::path& child : Children()) {
    const auto bytes = PrivateBytes(ReadAll(child / "status"));
    if (bytes) sum = sum.value_or(0) + *bytes;  // Otherwise it has ended.
  }
  if (!sum) return NoProc("the memory of the workers");
  return *sum;
}

std::vector<double> ReadNativeCellBytes() {
  std::vector<double> all;
  for (const fs::path& fork_server : Children()) {
    const std::size_t depth = PidNamespaces(fork_server);
    std::vector<double> cells;
    double shared = 0;
    for (const fs::path& process : Descendants(fork_server)) {
      const auto share = Field(ReadAll(process / "smaps_rollup"), "\nPss:");
      if (!share) continue;
      const auto bytes = static_cast<double>(*share * kKibibyte);
      if (PidNamespaces(process) > depth) {
        cells.push_back(bytes);
      } else {
        shared += bytes;
      }
    }
    for (const double bytes : cells) {
      all.push_back(bytes + shared / static_cast<double>(cells.size()));
    }
  }
  return all;
}

Result<std::uint64_t> ReadOwnBytes() {
  const auto bytes = PrivateBytes(ReadAll("/proc/self/status"));
  if (!bytes) return NoProc("the memory of this process");
  return *bytes;
}

}  // namespace caisson::bench
