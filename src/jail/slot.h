// A Slot is a slot in an Enclosure: processes are forked into it one after the other, so that the
// parts that all of them share are made once: a user and a mount namespace, private files, Landlock
// rules.
//
// Each process of a slot has its own pid namespace, which separates it from the next one. It finds
// the files as if no process had been there before: either nobody has touched them, or they are
// new.
//
// Trust     Privileged. The process that holds the slot keeps one capability, which is valid only
//           in its own user namespace and which Confine() drops. It runs no hostile code and reads
//           nothing that hostile code wrote.
// Threads   Single-threaded processes only, as Enclosure.
// Lifetime  That of the process that Enclosure::ForkSlot() made. A forked process uses the object
//           only for Confine().
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "jail/enclosure.h"
#include "jail/landlock.h"
#include "jail/root.h"

namespace caisson::jail {

struct SlotSpec {
  PrivateFiles files;
  std::uint64_t bytes = 0;  // Capacity of those files together.
  std::uint64_t inodes = 0;
  ConfineSpec walls = {};
};

class Slot {
 public:
  // Call in a process that ForkSlot() made. Sets up the slot and drops everything that is not
  // needed to fork others.
  static Result<Slot> Open(const Enclosure& enclosure, SlotSpec spec);

  // The child is pid 1 of its own pid namespace and dies with this process. If this process ends
  // while the child is being made, only the child's own parent can prevent a leak, by ending as
  // well: see Enclosure::DieWith.
  Result<Enclosure::Forked> Fork() const;
  // Call in the child. As Enclosure::Confine().
  Result<void> Confine() const;

  // The root of the private files, opened outside of every root.
  const UniqueFd& files() const { return files_; }

  // Call when the child and all its children are dead. Returns whether the files are exactly as
  // they were made, including access times. Every change leaves a mark that only the kernel writes
  // (the time of change), provided that the kernel's clock has advanced since the files were made:
  // see AwaitNextTick().
  bool AreFilesUntouched() const;
  // Replaces the files by new ones. Processes with a descriptor of the old files keep those.
  Result<void> RenewFiles();

 private:
  Slot(const Enclosure& enclosure, SlotSpec spec)
      : enclosure_(&enclosure), spec_(std::move(spec)) {}

  Result<void> MakeFiles();
  Result<std::string> Look() const;

  const Enclosure* enclosure_;
  SlotSpec spec_;
  UniqueFd files_;
  std::vector<UniqueFd> directories_;
  UniqueFd rules_;     // A Landlock ruleset that names these files.
  std::string fresh_;  // The result of Look() when they were made.
};

// The kernel stamps files with a clock that advances every few milliseconds. Returns when that
// clock is past the time of the call: after a few milliseconds, even if the time of day is changed
// meanwhile.
void AwaitNextTick();

}  // namespace caisson::jail
