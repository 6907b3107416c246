// A Cgroup bounds the memory and the number of processes of a jailed child, if this machine allows
// it.
//
// Trust     Its limits also cover native allocations and whole process trees, which rlimits do not
//           bound.
// Threads   One thread at a time. Attaching can take milliseconds; do it before the child has work.
// Lifetime  The destructor removes the group, which works only when its processes are gone. Declare
//           the Cgroup before the Child, so that it is destroyed after it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "jail/spawn_process.h"

namespace caisson::jail {

struct CgroupLimits {
  std::optional<std::uint64_t> memory_bytes = {};
  std::optional<std::uint64_t> processes = {};
};

// The files that describe this process's own groups. Tests use other files.
struct CgroupFiles {
  std::string mounts = "/proc/self/mounts";
  std::string own = "/proc/self/cgroup";
};

class Cgroup {
 public:
  // Makes a group beside or below this process's own. `name` must be a file name and unique per
  // call. The error names the missing controller and the setting to change. The caller then
  // continues without a group and reports that.
  static Result<Cgroup> Create(std::string_view name, const CgroupLimits& limits,
                               const CgroupFiles& files = {});

  // Returns whether a group that limits both memory and processes can be made, by making one.
  static bool Available();

  // Returns a name for a group of this process. It identifies the process, so that leftovers can be
  // found when the process is gone.
  static std::string NameFor(std::uint64_t number);
  // Removes groups with such names whose process is gone (a crashed host).
  static void RemoveLeftovers(const CgroupFiles& files = {});

  Cgroup(Cgroup&&) noexcept = default;
  Cgroup& operator=(Cgroup&&) = delete;
  ~Cgroup();

  Result<void> Attach(const Child& child) const;
  // Returns descriptors for a process whose pid only the process itself knows reliably. It enters
  // the group by writing "0" to each of them.
  Result<std::vector<UniqueFd>> Doors() const;

  // Sets a new limit, which also applies to the processes already in the group.
  Result<void> LimitMemory(std::uint64_t bytes) const;
  // Returns whether the kernel has killed a process of the group because memory ran out.
  bool ran_out_of_memory() const;
  // Returns the CPU time of its processes, including dead ones. nullopt: the controller is not
  // delegated.
  std::optional<std::chrono::nanoseconds> CpuTime() const;

  // "cgroup v2" or "cgroup v1".
  std::string_view version() const { return version_; }

 private:
  Cgroup(std::string_view version, std::vector<std::string> directories)
      : version_(version), directories_(std::move(directories)) {}

  std::string_view version_;
  std::string FileOf(std::string_view name) const;

  std::vector<std::string> directories_;  // One in v2; one per controller in v1.
};

}  // namespace caisson::jail
