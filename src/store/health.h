// StoreHealth tells whether the store can be written, from how its operations end.
//
// Trust     Ours.
// Threads   Any. The listener is called by the thread whose operation ended.
// Lifetime  Belongs to the Store. What the listener uses outlives the Store.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <utility>

#include "base/guarded.h"
#include "base/result.h"

namespace caisson {

// The store could not do it now: its disk is full, or the database cannot be reached, is busy or has an I/O error.
// Nobody's request is at fault, and the same operation can succeed later.
bool IsStoreFailure(const Error& error);

class StoreHealth {
 public:
  // Is told when writing begins to fail (the error) and when it works again (nullopt).
  using Listener = std::function<void(const std::optional<Error>& problem)>;
  void Listen(Listener listener) { state_.Lock()->listener = std::move(listener); }

  void OnFailure(const Error& error);  // A store failure.
  void OnWritten();

  // An operation waits until the store can be written: constructed when it begins to wait, destroyed when it ends.
  class Waiting {
   public:
    explicit Waiting(StoreHealth& health) : health_(health) { ++health_.waiting_; }
    ~Waiting() { --health_.waiting_; }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

   private:
    StoreHealth& health_;
  };
  std::size_t waiting() const { return waiting_; }
  // Whether the latest operation was a failure.
  bool fails() const { return state_.Lock()->problem.has_value(); }
  // Whether a write succeeded within the last `age`, and none has failed since.
  bool WrittenWithin(std::chrono::nanoseconds age) const;
  // The latest failure, if it is not older than `age`. On a full disk small writes succeed after large ones have failed, so
  // a write that succeeds does not end it.
  std::optional<Error> FailedWithin(std::chrono::nanoseconds age) const;

 private:
  struct State {
    std::optional<Error> problem{};
    std::optional<std::chrono::steady_clock::time_point> written_at{};
    std::optional<Error> failure{};                     // The latest,
    std::chrono::steady_clock::time_point failed_at{};  // and when.
    Listener listener{};
  };
  void Change(const std::optional<Error>& problem);

  mutable Guarded<State> state_;
  std::atomic<std::size_t> waiting_ = 0;
};

}  // namespace caisson
