// A Cgroup bounds the memory and the number of processes of a jailed child, where the machine lets
// us.
//
// Trust     Its limits hold for native allocations and whole process trees, which rlimits do not
//           bound.
// Threads   One at a time. Attaching can take milliseconds: do it before the child has work.
// Lifetime  The destructor removes the group, which works only once its processes are gone: declare
//           it before the Child, so that it goes after.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "jail/spawn.h"

namespace caisson::jail {

struct CgroupLimits {
  std::optional<std::uint64_t> memory_bytes = {};
  std::optional<std::uint64_t> processes = {};
};

// Where this process's own groups are read from; tests name files of their own.
struct CgroupFiles {
  std::string mounts = "/proc/self/mounts";
  std::string own = "/proc/self/cgroup";
};

class Cgroup {
 public:
  // Makes a group beside or below this process's own. `name` is unique per call: a file name. An
  // error says which controller is missing and what to set; the caller goes on without, and says
  // so.
  static Result<Cgroup> Create(std::string_view name, const CgroupLimits& limits,
                               const CgroupFiles& files = {});

  // Whether one that limits both memory and processes can be made, by making one.
  static bool Available();

  // The name of a group of this process: says whose it is once that process is gone.
  static std::string NameFor(std::uint64_t number);
  // Removes groups with such names that a process left behind which is gone (a crashed host).
  static void RemoveLeftovers(const CgroupFiles& files = {});

  Cgroup(Cgroup&&) noexcept = default;
  Cgroup& operator=(Cgroup&&) = delete;
  ~Cgroup();

  Result<void> Attach(const Child& child) const;
  // For a process that nobody but itself can name for sure: it enters by writing "0" to each of these.
  Result<std::vector<UniqueFd>> Doors() const;

  // A new limit, for the processes that are in it now too.
  Result<void> LimitMemory(std::uint64_t bytes) const;
  // Whether the kernel has killed a process of it for want of memory.
  bool ran_out_of_memory() const;
  // What its processes have used, the dead ones too. Nothing where the controller is not delegated.
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
