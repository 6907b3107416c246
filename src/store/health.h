// StoreHealth derives from the results of store operations if the store can be written.
//
// Trust     Trusted callers only.
// Threads   Any. The listener is called by the thread whose operation ended.
// Lifetime  Belongs to the Store. Everything that the listener uses outlives the Store.
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

// Returns true if the store cannot do it now: the disk is full, or the database cannot be reached,
// is busy or has an I/O error. The request is not at fault, and the same operation can succeed
// later.
bool IsStoreFailure(const Error& error);

class StoreHealth {
 public:
  // Called when writing begins to fail (with the error) and when it works again (with nullopt).
  using Listener = std::function<void(const std::optional<Error>& problem)>;
  void Listen(Listener listener) { state_.Lock()->listener = std::move(listener); }

  void OnFailure(const Error& error);  // A store failure.
  void OnWritten();

  // Marks an operation that waits until the store can be written: constructed when the wait begins,
  // destroyed when it ends.
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
  // Returns true if the latest operation failed.
  bool fails() const { return state_.Lock()->problem.has_value(); }
  // Returns true if a write succeeded within the last `age`, and none has failed since.
  bool WrittenWithin(std::chrono::nanoseconds age) const;
  // Returns the latest failure if it is not older than `age`. A later successful write does not
  // clear it, because small writes can succeed on a full disk where large ones fail.
  std::optional<Error> FailedWithin(std::chrono::nanoseconds age) const;

 private:
  struct State {
    std::optional<Error> problem{};
    std::optional<std::chrono::steady_clock::time_point> written_at{};
    std::optional<Error> failure{};                     // The latest failure,
    std::chrono::steady_clock::time_point failed_at{};  // and its time.
    Listener listener{};
  };
  void Change(const std::optional<Error>& problem);

  mutable Guarded<State> state_;
  std::atomic<std::size_t> waiting_ = 0;
};

}  // namespace caisson
