#include "jail/cgroup.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <system_error>

#include "base/unique_fd.h"

namespace caisson::jail {
namespace {

constexpr std::string_view kFix =
    "run caisson in a delegated group: a systemd unit with Delegate=memory pids and "
    "DelegateSubgroup=host, or `systemd-run --user --scope -p Delegate=yes`";

struct Setting {
  std::string_view controller;
  std::string_view v1_file;
  std::string_view v2_file;
  std::uint64_t value;
};

std::vector<Setting> SettingsFor(const CgroupLimits& limits) {
  std::vector<Setting> settings;
  if (limits.memory_bytes) {
    settings.push_back({"memory", "memory.limit_in_bytes", "memory.max", *limits.memory_bytes});
  }
  if (limits.processes) settings.push_back({"pids", "pids.max", "pids.max", *limits.processes});
  return settings;
}

bool HasWord(const std::string& text, std::string_view word, char separator) {
  std::istringstream words(text);
  for (std::string each; std::getline(words, each, separator);) {
    if (each == word) return true;
  }
  return false;
}

std::string ReadLine(const std::string& path) {
  std::string line;
  std::ifstream file(path);
  std::getline(file, line);
  return line;
}

Result<void> WriteFile(const std::string& path, const std::string& text) {
  // The kernel refuses to create files in a cgroup file system; O_CREAT serves the directories of
  // tests.
  UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  if (!file.is_open()) return Error::FromErrno(errno, "open " + path);
  if (::write(file.get(), text.data(), text.size()) < 0) {
    return Error::FromErrno(errno, "write " + path);
  }
  return {};
}

// Returns where the hierarchy of a v1 controller is mounted, or that of v2 if `controller` is
// empty.
std::string MountPoint(const CgroupFiles& files, std::string_view controller) {
  std::ifstream mounts(files.mounts);
  std::string device;
  std::string point;
  std::string type;
  std::string options;
  std::string rest;
  while (mounts >> device >> point >> type >> options && std::getline(mounts, rest)) {
    if (controller.empty() ? type == "cgroup2"
                           : type == "cgroup" && HasWord(options, controller, ',')) {
      return point;
    }
  }
  return "";
}

// Returns this process's group in that hierarchy. A container shows its own group as the root of
// the mount but names it by the host's path. The result is then the mount point itself.
std::string OwnGroup(const CgroupFiles& files, std::string_view controller) {
  const std::string point = MountPoint(files, controller);
  if (point.empty()) return "";
  std::ifstream groups(files.own);
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (controller.empty() ? !controllers.empty() : !HasWord(controllers, controller, ','))
      continue;
    const std::string path = line.substr(second + 1);
    const std::string group = path == "/" ? point : point + path;
    return ::access(group.c_str(), F_OK) == 0 ? group : point;
  }
  return "";
}

std::string Parent(const std::string& path) {
  return path.substr(0, path.find_last_of('/'));
}

// In v2 a group with processes cannot delegate controllers. So the new group is made below ours
// only if ours is a root, otherwise beside it.
std::string BaseV2(const CgroupFiles& files, const std::vector<Setting>& settings) {
  const std::string own = OwnGroup(files, "");
  if (own.empty()) return "";
  for (const std::string& base : {own, Parent(own)}) {
    const std::string handed_down = ReadLine(base + "/cgroup.subtree_control");
    bool all = true;
    for (const Setting& setting : settings) all &= HasWord(handed_down, setting.controller, ' ');
    if (all) return base;
  }
  return "";
}

Result<void> MakeDirectory(const std::string& path) {
  if (::mkdir(path.c_str(), 0755) != 0) {
    Error error = Error::FromErrno(errno, "make cgroup " + path);
    return Error(error.code(), error.message() + "; " + std::string(kFix));
  }
  return {};
}

constexpr std::string_view kPrefix = "caisson-";
// A group is empty between its creation and the arrival of its process. A group of this age will
// not get one any more, even if the pid of its creator means nothing here.
constexpr std::chrono::minutes kLeftoverAge{1};

// Returns whether a group of this name belongs to a process that is gone.
bool IsOrphan(const std::string& name) {
  if (!name.starts_with(kPrefix)) return false;
  pid_t maker = 0;
  const char* end = name.data() + name.size();
  const auto [at, error] = std::from_chars(name.data() + kPrefix.size(), end, maker);
  if (error != std::errc() || at == end || *at != '-' || maker <= 0) return false;
  return ::kill(maker, 0) != 0 && errno == ESRCH;
}

// rmdir() does not remove a group that still has processes.
void RemoveOrphans(const std::string& base) {
  namespace fs = std::filesystem;
  std::error_code failed;
  const auto now = fs::file_time_type::clock::now();
  for (const fs::directory_entry& entry : fs::directory_iterator(base, failed)) {
    std::error_code ignored;
    if (!IsOrphan(entry.path().filename().string())) continue;
    if (now - entry.last_write_time(ignored) > kLeftoverAge) ::rmdir(entry.path().c_str());
  }
}

}  // namespace

std::string Cgroup::NameFor(std::uint64_t number) {
  return std::string(kPrefix) + std::to_string(::getpid()) + "-" + std::to_string(number);
}

void Cgroup::RemoveLeftovers(const CgroupFiles& files) {
  std::set<std::string> bases;
  if (const std::string own = OwnGroup(files, ""); !own.empty()) bases = {own, Parent(own)};
  for (const std::string_view controller : {"memory", "pids", "cpuacct"}) {
    if (std::string own = OwnGroup(files, controller); !own.empty()) bases.insert(std::move(own));
  }
  for (const std::string& base : bases) RemoveOrphans(base);
}

Result<Cgroup> Cgroup::Create(std::string_view name, const CgroupLimits& limits,
                              const CgroupFiles& files) {
  const std::vector<Setting> settings = SettingsFor(limits);
  if (settings.empty() || name.empty() || name.find('/') != std::string_view::npos) {
    return Error(ErrorCode::kInvalidArgument, "a cgroup needs a name and a limit");
  }
  if (const std::string base = BaseV2(files, settings); !base.empty()) {
    const std::string path = base + "/" + std::string(name);
    TRY(MakeDirectory(path));
    Cgroup group("cgroup v2", {path});  // From here on its destructor cleans up.
    for (const Setting& setting : settings) {
      TRY(WriteFile(path + "/" + std::string(setting.v2_file), std::to_string(setting.value)));
    }
    // Otherwise memory beyond the limit would be swapped. The file is missing if the kernel does
    // not count swap.
    static_cast<void>(WriteFile(path + "/memory.swap.max", "0"));
    return group;
  }
  Cgroup group("cgroup v1", {});
  for (const Setting& setting : settings) {
    const std::string base = OwnGroup(files, setting.controller);
    if (base.empty()) {
      return Error(ErrorCode::kFailedPrecondition,
                   "the " + std::string(setting.controller) +
                       " controller is not delegated to this process; " + std::string(kFix));
    }
    const std::string path = base + "/" + std::string(name);
    TRY(MakeDirectory(path));
    group.directories_.push_back(path);
    TRY(WriteFile(path + "/" + std::string(setting.v1_file), std::to_string(setting.value)));
  }
  // Counts CPU time, if that controller is delegated too.
  if (const std::string base = OwnGroup(files, "cpuacct"); !base.empty()) {
    const std::string path = base + "/" + std::string(name);
    if (MakeDirectory(path)) group.directories_.push_back(path);
  }
  return group;
}

bool Cgroup::Available() {
  return Create(NameFor(static_cast<std::uint64_t>(::gettid())) + "-probe",
                {.memory_bytes = std::uint64_t{1} << 30, .processes = 64})
      .has_value();
}

Result<std::vector<UniqueFd>> Cgroup::Doors() const {
  std::vector<UniqueFd> doors;
  for (const std::string& directory : directories_) {
    const std::string path = directory + "/cgroup.procs";
    doors.emplace_back(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!doors.back().is_open()) return Error::FromErrno(errno, "open " + path);
  }
  return doors;
}

// Returns the path of the file in the directory that has it; empty if none has.
std::string Cgroup::FileOf(std::string_view name) const {
  for (const std::string& directory : directories_) {
    std::string path = directory + "/" + std::string(name);
    if (::access(path.c_str(), F_OK) == 0) return path;
  }
  return "";
}

Result<void> Cgroup::LimitMemory(std::uint64_t bytes) const {
  for (const std::string_view name : {"memory.max", "memory.limit_in_bytes"}) {
    if (const std::string path = FileOf(name); !path.empty()) {
      return WriteFile(path, std::to_string(bytes));
    }
  }
  return Error(ErrorCode::kFailedPrecondition, "the group does not limit memory");
}

bool Cgroup::ran_out_of_memory() const {
  for (const std::string_view name : {"memory.events", "memory.oom_control"}) {
    std::ifstream file(FileOf(name));
    std::string key;
    std::uint64_t count = 0;
    while (file >> key >> count) {
      if (key == "oom_kill" && count > 0) return true;
    }
  }
  return false;
}

std::optional<std::chrono::nanoseconds> Cgroup::CpuTime() const {
  std::ifstream usage(FileOf("cpuacct.usage"));
  std::int64_t count = 0;
  if (usage >> count) return std::chrono::nanoseconds(count);
  std::ifstream stat(FileOf("cpu.stat"));
  std::string key;
  while (stat >> key >> count) {
    if (key == "usage_usec") return std::chrono::microseconds(count);
  }
  return std::nullopt;
}

Cgroup::~Cgroup() {
  for (const std::string& directory : directories_) ::rmdir(directory.c_str());
}

Result<void> Cgroup::Attach(const Child& child) const {
  for (const std::string& directory : directories_) {
    TRY(WriteFile(directory + "/cgroup.procs", std::to_string(child.pid())));
  }
  return {};
}

}  // namespace caisson::jail
