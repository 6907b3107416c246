#include "engine/native/pipe_budget.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "engine/native/process_tree.h"

namespace caisson {
namespace {

constexpr std::size_t kPagesOfPipe = 16;
constexpr std::size_t kDefaultPages = 16384;
// If the operator has removed the kernel's limit.
constexpr std::size_t kManyPages = 1u << 20;
// The part of what is left that one cell can hold.
constexpr std::size_t kShares = 8;

// Adds the pipes that a process has open. Returns false if they cannot be seen.
bool AddPipes(pid_t pid, std::set<std::string>& pipes) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open(
      ::opendir(("/proc/" + std::to_string(pid) + "/fd").c_str()), ::closedir);
  if (!open) return false;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is our own.
  while (const dirent* entry = ::readdir(open.get())) {
    std::array<char, 64> target{};
    const ssize_t size =
        ::readlinkat(::dirfd(open.get()), entry->d_name, target.data(), target.size());
    if (size <= 0) continue;
    const std::string_view name(target.data(), static_cast<std::size_t>(size));
    if (name.starts_with("pipe:")) pipes.emplace(name);
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
  std::set<std::string> pipes;
  bool is_root_visible = false;
  for (const pid_t process : ProcessTree(root)) {
    // A child may have ended; it has no pipes then.
    const bool is_visible = AddPipes(process, pipes);
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
