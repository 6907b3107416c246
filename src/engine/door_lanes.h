// DoorLanes is implemented by engines whose lanes can also serve connections: a request that is
// read on a lane runs its code in a cell of that lane, and no thread is woken on the way.
//
// Trust     Trusted code only.
// Threads   Any.
// Lifetime  The executors belong to the engine. Nothing may be left on them when it is destroyed.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <vector>

#include "engine/engine.h"

namespace caisson {

class DoorLanes {
 public:
  virtual ~DoorLanes() = default;
  // Each runs one handler at a time. Handlers must not block.
  virtual std::vector<asio::any_io_executor> door_executors() const = 0;
};

// Returns none if the engine has no such lanes.
inline std::vector<asio::any_io_executor> DoorExecutors(const Engine& engine) {
  const auto* lanes = dynamic_cast<const DoorLanes*>(&engine);
  return lanes != nullptr ? lanes->door_executors() : std::vector<asio::any_io_executor>();
}

}  // namespace caisson
