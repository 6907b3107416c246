// The Slots of a fork server are processes forked from it. Each holds a jail::Slot in which it
// makes cells of the usual kind, one after the other. Such a cell has its namespaces and files
// before it is forked. Making those takes a sixth of the time of a cell, and removing them is the
// slowest part of its end (ADR 34).
//
// Trust     As the fork server: no slot runs hostile code or reads data of a cell.
// Threads   One in each process.
// Lifetime  A slot serves until the fork server ends. If one ends earlier, something is badly
//           wrong, and the fork server ends too: the host then starts another.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "engine/native/forkserver/forked_cell.h"
#include "wire/fork_server_messages.h"

namespace caisson::forkserver {

class Slots {
 public:
  // Returns whether the cell can be made in a slot; others are made alone.
  static bool Suit(const Inheritance& inheritance, const wire::MakeCell& request);

  Result<void> Prepare();

  // Returns whether a slot makes the cell and sends all reports about it to the host. If none is
  // free, a new slot makes it within a few milliseconds, up to a limit: soon enough for a cell
  // that no run waits for.
  bool Take(const Inheritance& inheritance, const wire::MakeCell& request);
  // Adds one slot for future cells.
  void Grow(const Inheritance& inheritance);

  bool Has(pid_t pid) const;

 private:
  struct Place {
    pid_t pid = 0;
    UniqueFd socket;  // For requests.
    bool is_free = false;
  };

  void NoteFreeOnes();
  // `first`: the cell that it makes at once; null: none.
  bool Add(const Inheritance& inheritance, const wire::MakeCell* first);

  std::vector<Place> places_;
  // Slots write their numbers to the other end when they are free. It is read when a cell is
  // requested: waking the fork server for it would disturb a run.
  UniqueFd news_;
  UniqueFd news_end_;
};

}  // namespace caisson::forkserver
