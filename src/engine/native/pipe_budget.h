// A PipeBudget divides the pipes that the kernel grants one user among the native cells.
//
// The kernel counts the memory of pipes for each user (/proc/sys/fs/pipe-user-pages-soft), and all
// cells have the same user. Beyond that limit every new pipe of that user is smaller. So cells
// together take at most half of it. A cell that holds few pipes gets another one even if many cells
// hold as many as they can: the share of each shrinks with what is left.
//
// Trust     Cells ask as often as they like.
// Threads   Any.
// Lifetime  Outlives the cells.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <optional>

namespace caisson {

// Returns half of the pipes of full size that the kernel grants one user; 512 by default.
std::size_t PipesOfAllCells();

// Returns the number of pipes that the processes of this tree have open. nullopt: /proc does not
// show them.
std::optional<std::size_t> CountOpenPipes(pid_t root);

class PipeBudget {
 public:
  explicit PipeBudget(std::size_t pipes) : left_(pipes) {}
  PipeBudget(const PipeBudget&) = delete;
  PipeBudget& operator=(const PipeBudget&) = delete;

  // Takes a pipe for a cell that has already taken `held`. Returns false if its share is used up.
  bool Take(std::size_t held);
  void Return(std::size_t pipes) { left_ += pipes; }

  std::size_t left() const { return left_; }

 private:
  std::atomic<std::size_t> left_;
};

}  // namespace caisson
