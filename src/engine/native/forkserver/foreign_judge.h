// A ForeignJudge is the process that judges what a foreign interpreter will run: a copy of the fork
// server, which has the built-in interpreter (ADR 28). Each cell has one, from before its run
// arrives until its last code is judged.
//
// Trust     Trusted until it is confined. Then it reads what the cell's interpreter writes, which
//           is hostile once code has run. It can open no file, start nothing, and use its socket
//           only.
// Threads   Single-threaded processes only.
// Lifetime  The process ends when the other end of its socket is closed, or its parent is gone.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "base/unique_fd.h"
#include "jail/enclosure.h"
#include "jail/filter.h"

namespace caisson::forkserver {

class ForeignJudge {
 public:
  // In the fork server, before it enters its root: the judge's library is not among the files that
  // cells see.
  static Result<void> Boot();
  // Before the fork server seals itself.
  static Result<ForeignJudge> Prepare(const jail::Enclosure& enclosure);

  // In a cell, before it confines itself: starts its judge and returns the socket to it.
  Result<UniqueFd> Start(const jail::Enclosure& enclosure) const;

 private:
  ForeignJudge(jail::Filter filter, std::uint64_t address_space_bytes)
      : filter_(std::move(filter)), address_space_bytes_(address_space_bytes) {}

  [[noreturn]] void Live(const jail::Enclosure& enclosure, int socket, int parent) const;
  Result<void> Confine(const jail::Enclosure& enclosure) const;

  jail::Filter filter_;
  std::uint64_t address_space_bytes_;  // Of a judge that has judged nothing.
};

}  // namespace caisson::forkserver
