#include "engine/native/pipe_budget.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "engine/native/process_tree.h"

namespace caisson {
namespace {

constexpr std::size_t kPagesOfPipe = 16;
constexpr std::size_t kDefaultPages = 16384;
// If the operator has removed the kernel's limit.
constexpr std::size_t kManyPages = 1u << 20;
// The part of what is left that one cell can hold.
constexpr std::size_t kShares = 8;

// Returns the number behind `name` in a file of /proc/PID/fdinfo.
std::string FieldOf(std::string_view text, std::string_view name) {
  const std::size_t at = text.find(name);
  if (at == std::string_view::npos) return {};
  const std::size_t begin = text.find_first_not_of(" \t", at + name.size());
  return std::string(text.substr(begin, text.find('\n', begin) - begin));
}

// The kernel's only mount of pipes, by number. Empty if the kernel does not tell.
std::string MountOfPipes() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return {};
  const UniqueFd reader(ends[0]);
  const UniqueFd writer(ends[1]);
  const std::string text = ReadSmallFile("/proc/self/fdinfo/" + std::to_string(ends[0]));
  return FieldOf(text, "ino:").empty() ? "" : FieldOf(text, "mnt_id:");  // Linux 5.14 tells both.
}

// Adds the pipes that a process has open. Returns false if they cannot be seen. The names in
// /proc/PID/fd would tell more, but they are closed to the user of a cell, who is not root.
bool AddPipes(pid_t pid, const std::string& mount, std::set<std::string>& pipes) {
  const std::string path = "/proc/" + std::to_string(pid) + "/fdinfo";
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(path.c_str()), ::closedir);
  if (!open) return false;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is our own.
  while (const dirent* entry = ::readdir(open.get())) {
    const std::string text = ReadSmallFile(path + "/" + entry->d_name);
    if (FieldOf(text, "mnt_id:") == mount) pipes.insert(FieldOf(text, "ino:"));
  }
  return true;
}

}  // namespace

std::size_t PipesOfAllCells() {
  const std::string text = ReadSmallFile("/proc/sys/fs/pipe-user-pages-soft");
  std::size_t pages = text.empty() ? kDefaultPages : std::strtoull(text.c_str(), nullptr, 10);
  if (pages == 0) pages = kManyPages;
  return pages / kPagesOfPipe / 2;
}

std::optional<std::size_t> CountOpenPipes(pid_t root) {
  const std::string mount = MountOfPipes();
  if (mount.empty()) return std::nullopt;
  std::set<std::string> pipes;
  bool is_root_visible = false;
  for (const pid_t process : ProcessTree(root)) {
    // A child may have ended; it has no pipes then.
    const bool is_visible = AddPipes(process, mount, pipes);
    if (process == root) is_root_visible = is_visible;
  }
  return is_root_visible ? std::optional(pipes.size()) : std::nullopt;
}

bool PipeBudget::Take(std::size_t held) {
  std::size_t left = left_;
  do {
    if (held * kShares >= left) return false;
  } while (!left_.compare_exchange_weak(left, left - 1));
  return true;
}

}  // namespace caisson
