// A DirectCell is a Cell for one call of one tool. It holds no interpreter and executes no code: it
// makes the call and ends with its answer. The call has everything that calls of code have: checked
// arguments, journal, approval, limits.
//
// Trust     The arguments are data and are never part of a source text. The answer is hostile
//           content.
// Threads   As Cell. The executor must run one handler at a time.
// Lifetime  As Cell. A saved DirectCell has no state and can be restored by any build.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <string>

#include "engine/engine.h"

namespace caisson {

struct DirectCall {
  std::string tool;
  Dict arguments{};
};

std::unique_ptr<Cell> MakeDirectCell(asio::any_io_executor executor, DirectCall call);
// The same for a call that was saved: Continue waits for its answer. `limits`: as of
// Engine::Restore.
std::unique_ptr<Cell> RestoreDirectCell(asio::any_io_executor executor, DirectCall call,
                                        Limits limits);

}  // namespace caisson
