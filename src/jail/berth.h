// A Berth is a place in an Enclosure that processes are forked into one after the other, so that what is the same for
// all of them is made once: a user and a mount namespace, private files, Landlock rules.
//
// A process of one berth is told from the next by its pid namespace, and finds the files as if nobody had been there
// before: either nobody has touched them, or they are new.
//
// Trust     Privileged. The process that holds the berth keeps one capability, which counts in its own user namespace
//           alone and is given up by Confine(); it runs no hostile code and reads nothing that such code wrote.
// Threads   Single-threaded processes only, as Enclosure.
// Lifetime  Of the process that Enclosure::ForkBerth() made. A forked process uses the object for Confine() only.
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

struct BerthSpec {
  PrivateFiles files;
  std::uint64_t bytes = 0;  // Of those files together.
  std::uint64_t inodes = 0;
  ConfineSpec walls = {};
};

class Berth {
 public:
  // In a process that ForkBerth() made: settles it, and gives up all that is not needed to fork others.
  static Result<Berth> Open(const Enclosure& enclosure, BerthSpec spec);

  // The child is pid 1 of a namespace of its own, and dies with this process. If that ends while the child is being made,
  // only its own parent can see to it, by ending as well: see Enclosure::DieWith.
  Result<Enclosure::Forked> Fork() const;
  // In the child: as Enclosure::Confine().
  Result<void> Confine() const;

  // The private files' root, from outside of every root.
  const UniqueFd& files() const { return files_; }

  // Once the child and all its children are dead: whether the files are still as they were made, to the last
  // access. Every change leaves a mark that only the kernel writes (the time of change), provided that its clock has moved on
  // since they were made: AwaitNextTick().
  bool AreFilesUntouched() const;
  // New ones in their place. Who has a descriptor of the old ones keeps those.
  Result<void> RenewFiles();

 private:
  Berth(const Enclosure& enclosure, BerthSpec spec)
      : enclosure_(&enclosure), spec_(std::move(spec)) {}

  Result<void> MakeFiles();
  Result<std::string> Look() const;

  const Enclosure* enclosure_;
  BerthSpec spec_;
  UniqueFd files_;
  std::vector<UniqueFd> directories_;
  UniqueFd rules_;     // A Landlock ruleset that names these files.
  std::string fresh_;  // What Look() saw when they were made.
};

// Files are stamped with a clock that stands still for a few milliseconds. Returns when it is past the time of the call, a
// few milliseconds later whatever happens to the time of day meanwhile.
void AwaitNextTick();

}  // namespace caisson::jail
