// A Gate is how work is stopped for good: close it, and nothing more comes in; wait, and what was in is out.
//
// Trust     Ours.
// Threads   Any.
// Lifetime  Must stay until Close() has returned, and longer than its passes.
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

class Gate {
 public:
  class Pass {
   public:
    Pass(Pass&& other) noexcept : gate_(std::exchange(other.gate_, nullptr)) {}
    Pass& operator=(Pass&&) = delete;
    ~Pass() {
      if (gate_ != nullptr) gate_->Leave();
    }

   private:
    friend class Gate;
    explicit Pass(Gate& gate) : gate_(&gate) {}
    Gate* gate_;
  };

  // Nothing once it is closed.
  std::optional<Pass> Enter();
  void Shut() { state_.Lock()->shut = true; }
  // Shuts it and returns when everybody has left; any number of times, side by side too.
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
