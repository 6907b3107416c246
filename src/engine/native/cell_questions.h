// CellQuestions counts what a cell makes where no namespace does (tier landlock): threads, and names of files. The cell's
// system calls wait until they are answered here.
//
// Trust     The cell asks as often as it likes. Answers depend on counts alone, never on what the cell says.
// Threads   The cell's lane.
// Lifetime  Belongs to the CellProcess; goes with it.
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
  // `files`: the directory that the names are counted in; outlives this.
  CellQuestions(UniqueFd listener, const UniqueFd& files, CellCounts most)
      : listener_(std::move(listener)), files_(files), most_(most) {}

  int fd() const { return listener_.fd(); }
  // Answers some of those that wait. False: nobody can ask any more.
  bool Answer();
  // Whether the cell has made any file.
  bool made_names() const { return names_ > 0; }

 private:
  bool MayMakeThread(pid_t thread) const;
  bool MayMakeName();

  const jail::SyscallListener listener_;
  const UniqueFd& files_;
  const CellCounts most_;
  std::size_t names_ =
      0;  // At most so many there are: those that were removed count until they are counted again.
  std::chrono::steady_clock::time_point full_until_{};  // Names are not counted again before.
};

}  // namespace caisson
