// CellQuestions counts the threads and file names that a cell creates where no namespace counts
// them (tier landlock). The system calls of the cell wait for the answers given here.
//
// Trust     The cell asks as often as it likes. Answers depend only on counts, never on data of the
//           cell.
// Threads   The cell's lane.
// Lifetime  Owned by the CellProcess.
#pragma once

#include <chrono>
#include <cstddef>

#include "base/unique_fd.h"
#include "jail/listener.h"

namespace caisson {

struct CellCounts {
  std::size_t threads = 0;
  std::size_t names = 0;  // Files, directories and links.
};

class CellQuestions {
 public:
  // `files`: the directory in which names are counted; outlives this object.
  CellQuestions(UniqueFd listener, const UniqueFd& files, CellCounts most)
      : listener_(std::move(listener)), files_(files), most_(most) {}

  int fd() const { return listener_.fd(); }
  // Answers some of the waiting questions. Returns false when there can be no more questions.
  bool Answer();
  // Returns whether the cell has created any file.
  bool made_names() const { return names_ > 0; }

 private:
  bool MayMakeThread(pid_t thread) const;
  bool MayMakeName();

  const jail::SyscallListener listener_;
  const UniqueFd& files_;
  const CellCounts most_;
  std::size_t names_ = 0;  // An upper bound: removed names count until the next count.
  // Names are not counted again before this time.
  std::chrono::steady_clock::time_point full_until_{};
};

}  // namespace caisson
