// A ShutdownGate stops work for good: after Shut() no work enters, and Close() waits until all work
// has left.
//
// Trust     Handles no data.
// Threads   Any.
// Lifetime  Must exist until Close() has returned, and longer than its passes.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/guarded.h"
#include "base/wakeup.h"

namespace caisson {

class ShutdownGate {
 public:
  class Pass {
   public:
    Pass(Pass&& other) noexcept : gate_(std::exchange(other.gate_, nullptr)) {}
    Pass& operator=(Pass&&) = delete;
    ~Pass() {
      if (gate_ != nullptr) gate_->Leave();
    }

   private:
    friend class ShutdownGate;
    explicit Pass(ShutdownGate& gate) : gate_(&gate) {}
    ShutdownGate* gate_;
  };

  // nullopt: the gate is shut.
  std::optional<Pass> Enter();
  void Shut() { state_.Lock()->shut = true; }
  // Shuts the gate and returns when all work has left. May be called repeatedly and concurrently.
  asio::awaitable<void> Close();

 private:
  struct State {
    bool shut = false;
    std::size_t inside = 0;
    std::vector<std::shared_ptr<Wakeup>> waiting;
  };
  void Leave();

  Guarded<State> state_;
};

}  // namespace caisson
