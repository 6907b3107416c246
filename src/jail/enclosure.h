// An Enclosure is a jail that is built once and that any number of processes are forked into. Each of
// those puts up walls of its own before it meets hostile code.
//
// The process that builds it (a nursery) was started by Spawn(), stays trusted and keeps no privilege.
// What forked processes share is read-only; what is private to each is made by Settle() and Confine().
//
// Trust     Privileged. A forked process is trusted until Confine() returns, hostile after it.
// Threads   The process must be single-threaded, now and whenever it forks.
// Lifetime  Nothing it does can be undone. In a forked process the object only serves Settle() and
//           Confine(), once each, in this order.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "jail/filter.h"
#include "jail/landlock.h"
#include "jail/root.h"
#include "jail/tier.h"

namespace caisson::jail {

struct EnclosureSpec {
  Tier tier = Tier::kNamespace;  // The one it was spawned with.
  std::string name = "caisson-jailed";
  RootPlan root = {};  // Without kNamespace there is no root, and all paths are the host's.
};

// What a forked process may have beyond what all of them read.
struct ConfineSpec {
  std::vector<PathRule> paths = {};
  std::uint64_t tasks = 1;  // Processes and threads together. Needs kNamespace to be counted.
};

class Enclosure {
 public:
  // Swaps the root. What it holds can be read now, and its own directories written to until Seal().
  static Result<Enclosure> Open(const EnclosureSpec& spec);
  // Gives up everything that is not needed to fork: `filter` is the first part of what FilterParts()
  // made. The list is what every forked process has.
  Result<Walls> Seal(const Filter& filter);

  // `rules` in two parts: with the first this process can still fork, settle and confine others.
  static Result<Filter::Parts> FilterParts(std::span<const SyscallRule> rules);

  struct Forked {
    pid_t pid = 0;   // 0: this is the child. Pid 1 of a namespace of its own, in tier kNamespace.
    UniqueFd pidfd;  // The parent's.
  };
  Result<Forked> Fork() const;
  // The same for a process that is to hold a Berth (berth.h), which others are forked from in turn: without a pid
  // namespace of its own. Tier kNamespace only.
  Result<Forked> ForkBerth() const;

  // In the child: an identity, and in tier kNamespace files, of its own.
  Result<void> Settle(const PrivateFiles& files, std::uint64_t bytes, std::uint64_t inodes) const;
  // In the child: every wall but the second part of the filter, which is loaded last. Descriptors that
  // are open stay open.
  Result<void> Confine(const ConfineSpec& spec) const;

  Tier tier() const { return tier_; }
  // The address space of the calling process, in bytes. Before Confine().
  Result<std::uint64_t> AddressSpace() const;
  // A file of /proc/self, of the calling process and of what it becomes.
  Result<UniqueFd> OpenOwn(const char* file) const;

 private:
  friend class Berth;  // Takes these steps one by one.

  Enclosure(Tier tier, UniqueFd proc, int landlock_abi)
      : tier_(tier), proc_(std::move(proc)), landlock_abi_(landlock_abi) {}

  Result<Forked> ForkInBerth() const;
  Result<Forked> Clone(std::uint64_t namespaces) const;
  void DieWith(pid_t parent) const;
  Result<void> SettleIdentity() const;
  Result<UniqueFd> MakeRules(
      std::span<const PathRule> paths) const;  // Not open: there is no Landlock.
  Result<void> ApplyRules(const UniqueFd& rules) const;
  Result<void> PutUpWalls(const ConfineSpec& spec) const;
  Result<void> WriteProc(const char* file, const std::string& text) const;

  Tier tier_;
  UniqueFd proc_;  // The only way to say who a process is in its user namespace: there is no /proc.
  int landlock_abi_;  // 0: none.
};

}  // namespace caisson::jail
