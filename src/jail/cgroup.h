// A Cgroup bounds the memory and the number of processes of a jailed child, where the machine lets
// us.
//
// Trust     Its limits hold for native allocations and whole process trees, which rlimits do not
//           bound.
// Threads   One at a time. Attaching can take milliseconds: do it before the child has work.
// Lifetime  The destructor removes the group, which works only once its processes are gone: declare
//           it before the Child, so that it goes after.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "jail/spawn.h"

namespace caisson::jail {

struct CgroupLimits {
  std::optional<std::uint64_t> memory_bytes = {};
  std::optional<std::uint64_t> processes = {};
};

class Cgroup {
 public:
  // Makes a group beside or below this process's own. `name` is unique per call: a file name. An
  // error says which controller is missing and what to set; the caller goes on without, and says
  // so.
  static Result<Cgroup> Create(std::string_view name, const CgroupLimits& limits);

  Cgroup(Cgroup&&) noexcept = default;
  Cgroup& operator=(Cgroup&&) = delete;
  ~Cgroup();

  Result<void> Attach(const Child& child) const;

  // "cgroup v2" or "cgroup v1".
  std::string_view version() const { return version_; }

 private:
  Cgroup(std::string_view version, std::vector<std::string> directories)
      : version_(version), directories_(std::move(directories)) {}

  std::string_view version_;
  std::vector<std::string> directories_;  // One in v2; one per controller in v1.
};

}  // namespace caisson::jail
