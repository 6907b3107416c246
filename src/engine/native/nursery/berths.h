// The Berths of a nursery: processes forked from it that hold a jail::Berth each, in which they make cells of the
// usual kind, one after the other. Such a cell has its namespaces and files before it is forked, which is a sixth of what a
// cell costs, and the slowest part of its end (ADR 34).
//
// Trust     As the nursery: no berth runs hostile code or reads what a cell wrote.
// Threads   One in each process.
// Lifetime  A berth serves until the nursery ends. If one ends before, something is badly wrong, and the nursery ends
//           too: the host then starts another.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "engine/native/nursery/cell.h"
#include "wire/nursery.h"

namespace caisson::nursery {

class Berths {
 public:
  // What cells in berths are like; others are made alone.
  static bool Suit(const Inheritance& inheritance, const wire::MakeCell& request);

  Result<void> Prepare();

  // Whether a berth makes the cell, and tells the host everything about it. Where none is free, one more does so in a few
  // milliseconds, up to a limit: soon enough for a cell that nobody waits for.
  bool Take(const Inheritance& inheritance, const wire::MakeCell& request);
  // One more, for the cells to come.
  void Grow(const Inheritance& inheritance);

  bool Has(pid_t pid) const;

 private:
  struct Place {
    pid_t pid = 0;
    UniqueFd socket;  // For requests.
    bool is_free = false;
  };

  void NoteFreeOnes();
  // `first`: what it is to make at once; null: nothing.
  bool Add(const Inheritance& inheritance, const wire::MakeCell* first);

  std::vector<Place> places_;
  // Berths write their numbers to the other end when they are free. Read when a cell is asked for: waking the nursery
  // for it would disturb a run.
  UniqueFd news_;
  UniqueFd news_end_;
};

}  // namespace caisson::nursery
