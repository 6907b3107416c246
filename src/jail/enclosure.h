// An Enclosure is a jail that is built once and into which any number of processes are forked. Each
// of those processes adds its own walls before it meets hostile code.
//
// The process that builds it (a fork server) was started by Spawn(), stays trusted and keeps no
// privilege. Everything that the forked processes share is read-only. Settle() and Confine() make
// the parts that are private to each.
//
// Trust     Privileged. A forked process is trusted until Confine() returns, and hostile after
//           that.
// Threads   The process must be single-threaded, now and whenever it forks.
// Lifetime  Cannot be undone. A forked process uses the object only for Settle() and Confine(),
//           once each, in this order.
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
  Tier tier = Tier::kNamespace;  // The tier that the process was spawned with.
  std::string name = "caisson-jailed";
  RootPlan root = {};  // Used by kNamespace only; in other tiers all paths are the host's.
};

// Rights that a forked process has beyond the files that all of them can read.
struct ConfineSpec {
  std::vector<PathRule> paths = {};
  std::uint64_t tasks = 1;  // Processes and threads together. Only enforced in kNamespace.
};

class Enclosure {
 public:
  // Swaps the root. The new root can be read now, and its own directories can be written until
  // Seal().
  static Result<Enclosure> Open(const EnclosureSpec& spec);
  // Drops everything that is not needed to fork. `filter` is the first part of the result of
  // FilterParts(). Returns the walls that every forked process has.
  Result<Walls> Seal(const Filter& filter);

  // Splits `rules` in two parts. With the first part loaded, this process can still fork, settle
  // and confine others.
  static Result<Filter::Parts> FilterParts(std::span<const SyscallRule> rules);

  struct Forked {
    pid_t pid = 0;   // 0 in the child. In tier kNamespace the child is pid 1 of its own namespace.
    UniqueFd pidfd;  // Only set in the parent.
  };
  Result<Forked> Fork() const;
  // As Fork, for a process that will hold a Slot (slot.h), from which others are forked. It gets
  // no pid namespace of its own. Tier kNamespace only.
  Result<Forked> ForkSlot() const;

  // Call in the child. Gives it its own identity and, in tier kNamespace, its own files.
  Result<void> Settle(const PrivateFiles& files, std::uint64_t bytes, std::uint64_t inodes) const;
  // Call in the child. Raises every wall except the second part of the filter, which is loaded
  // last. Open descriptors stay open.
  Result<void> Confine(const ConfineSpec& spec) const;

  Tier tier() const { return tier_; }
  // Returns the size of the address space of the calling process, in bytes. Call before Confine().
  Result<std::uint64_t> AddressSpace() const;
  // Opens a file of /proc/self for the calling process and for the program it becomes.
  Result<UniqueFd> OpenOwn(const char* file) const;

 private:
  friend class Slot;  // Performs these steps one by one.

  Enclosure(Tier tier, UniqueFd proc, int landlock_abi)
      : tier_(tier), proc_(std::move(proc)), landlock_abi_(landlock_abi) {}

  Result<Forked> ForkInSlot() const;
  Result<Forked> Clone(std::uint64_t namespaces) const;
  void DieWith(pid_t parent) const;
  Result<void> SettleIdentity() const;
  Result<UniqueFd> MakeRules(
      std::span<const PathRule> paths) const;  // Not open if there is no Landlock.
  Result<void> ApplyRules(const UniqueFd& rules) const;
  Result<void> PutUpWalls(const ConfineSpec& spec) const;
  Result<void> WriteProc(const char* file, const std::string& text) const;

  Tier tier_;
  // The only way to write the id maps of a forked process: the new root has no /proc.
  UniqueFd proc_;
  int landlock_abi_;  // 0: none.
};

}  // namespace caisson::jail
