#include "tests/integration/census.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>

namespace caisson::testing {
namespace {

namespace fs = std::filesystem;

std::size_t CountEntries(const char* path) {
  std::error_code error;
  std::size_t count = 0;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    ++count;
  }
  return count;
}

std::size_t CountLines(const char* path) {
  std::ifstream file(path);
  return static_cast<std::size_t>(
      std::count(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>(), '\n'));
}

// Returns the parent, from /proc/PID/stat: the second field after the last ')'.
std::optional<pid_t> ParentOf(const fs::path& process) {
  std::ifstream file(process / "stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream rest(text.substr(name_end + 1));
  std::string state;
  pid_t parent = 0;
  rest >> state >> parent;
  return parent;
}

// The number of slots of a fork server grows with its cells and does not shrink.
bool IsSlot(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/comm");
  std::string name;
  std::getline(file, name);
  return name == "caisson-slot";
}

// Returns the number after `key` in a file of "Key:   1234 kB" lines, in bytes.
std::optional<std::uint64_t> KilobytesOf(const std::string& path, std::string_view key) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    if (!line.starts_with(key)) continue;
    std::istringstream rest(line.substr(key.size()));
    std::uint64_t kilobytes = 0;
    if (rest >> kilobytes) return kilobytes << 10;
  }
  return std::nullopt;
}

}  // namespace

std::vector<pid_t> Descendants() {
  std::multimap<pid_t, pid_t> children;
  std::error_code error;
  for (fs::directory_iterator it("/proc", error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename();
    pid_t pid = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (parsed.ec != std::errc() || parsed.ptr != name.data() + name.size()) continue;
    if (const auto parent = ParentOf(it->path())) children.emplace(*parent, pid);
  }
  std::vector<pid_t> found{::getpid()};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto [first, last] = children.equal_range(found[i]);
    for (auto it = first; it != last; ++it) found.push_back(it->second);
  }
  found.erase(found.begin());
  std::ranges::sort(found);
  return found;
}

namespace {

Census CountOnce() {
  // The thread sanitizer starts a thread together with our first one: start it before counting.
  static const bool started = (std::thread([] {}).join(), true);
  (void)started;
  std::vector<pid_t> processes = Descendants();
  std::erase_if(processes, IsSlot);
  return {.descriptors = CountEntries("/proc/self/fd"),
          .threads = CountEntries("/proc/self/task"),
          .mounts = CountLines("/proc/self/mountinfo"),
          .processes = std::move(processes)};
}

}  // namespace

Census TakeCensus() {
  // Engine native removes the files of an ended cell on another thread: count until that is done.
  Census last = CountOnce();
  for (int tries = 0, same = 0; tries < 200 && same < 4; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    Census now = CountOnce();
    same = now == last ? same + 1 : 0;
    last = std::move(now);
  }
  return last;
}

void PrintTo(const Census& census, std::ostream* out) {
  *out << census.descriptors << " descriptors, " << census.threads << " threads, " << census.mounts
       << " mounts, processes:";
  for (pid_t process : census.processes) *out << ' ' << process;
}

std::optional<std::uint64_t> ProportionalMemory(pid_t pid) {
  return KilobytesOf("/proc/" + std::to_string(pid) + "/smaps_rollup", "Pss:");
}

std::uint64_t OwnResidentMemory() {
  return KilobytesOf("/proc/self/status", "VmRSS:").value_or(0);
}

}  // namespace caisson::testing
