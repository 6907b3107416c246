// CellQuestions counts the pipes that a cell creates, and its threads and file names where no
// namespace counts them (tier landlock). The system calls of the cell wait for the answers given
// here.
//
// Trust     The cell asks as often as it likes. Answers depend only on counts, never on data of the
//           cell.
// Threads   The cell's lane.
// Lifetime  Owned by the CellProcess.
#pragma once

#include <chrono>
#include <cstddef>

#include "base/unique_fd.h"
#include "engine/native/pipe_budget.h"
#include "jail/listener.h"

namespace caisson {

struct CellCounts {
  std::size_t threads = 0;
  std::size_t names = 0;  // Files, directories and links.
  std::size_t pipes = 0;  // In addition to its two streams.
};

class CellQuestions {
 public:
  // `files`: the directory in which names are counted. `process`: the pidfd of the cell. `budget`:
  // where its pipes come from; null: it can make none. All of them outlive this object.
  CellQuestions(UniqueFd listener, const UniqueFd& files, const UniqueFd& process, CellCounts most,
                PipeBudget* budget)
      : listener_(std::move(listener)),
        files_(files),
        process_(process),
        most_(most),
        budget_(budget) {}
  CellQuestions(const CellQuestions&) = delete;
  CellQuestions& operator=(const CellQuestions&) = delete;
  // Returns the pipes to the budget. The cell must be dead.
  ~CellQuestions();

  int fd() const { return listener_.fd(); }
  // Answers some of the waiting questions. Returns false when there can be no more questions.
  bool Answer();
  // Returns whether the cell has created any file.
  bool made_names() const { return names_ > 0; }

 private:
  bool MayMakeThread(pid_t thread) const;
  bool MayMakeName();
  bool MayMakePipe();
  void CountPipes();

  const jail::SyscallListener listener_;
  const UniqueFd& files_;
  const UniqueFd& process_;
  const CellCounts most_;
  PipeBudget* const budget_;
  std::size_t names_ = 0;  // An upper bound: removed names count until the next count.
  // Names are not counted again before this time.
  std::chrono::steady_clock::time_point full_until_{};
  std::size_t pipes_ = 0;  // An upper bound, as names_.
  // Pipes are not counted again before this time.
  std::chrono::steady_clock::time_point no_pipes_until_{};
};

}  // namespace caisson
