// A ThreadRun keeps the events of a run of one thread while the run is under way. Any number
// of clients can follow it, also from the middle.
//
// Trust     Events are this program's. Their size is bounded: above a limit, pieces of text are
//           left out, and the messages at the end have them.
// Threads   Any.
// Lifetime  Shared by the run and its followers.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/guarded.h"
#include "base/result.h"
#include "base/wakeup.h"
#include "net/sse.h"
#include "protocol/agui/thread.h"
#include "protocol/agui/translation.h"
#include "store/ids.h"

namespace caisson::agui {

class ThreadRun {
 public:
  static constexpr std::size_t kMaxKeptBytes = 16u << 20;

  explicit ThreadRun(std::string run_id) : run_id_(std::move(run_id)) {}

  const std::string& run_id() const { return run_id_; }

  // The run has begun. `catch_up`: events that only a follower needs that comes later.
  void Begin(Thread thread, ResponseId turn, std::vector<std::string> catch_up);
  // It goes on with another turn.
  void SetTurn(ResponseId turn) { state_.Lock()->turn = std::move(turn); }
  void Push(std::string event, Weight weight);
  void End();

  // Returns when the run has begun. False: it ended before.
  asio::awaitable<bool> AwaitBegin();
  asio::awaitable<void> AwaitEnd();

  // The thread as it was when the run began, and the current turn.
  struct Facts {
    Thread thread;
    ResponseId turn;
    bool has_followers = false;
  };
  Facts facts() const;

  enum class Place { kFirst, kLater };
  // A client that follows the run. Destroyed when the client has left.
  class Follower {
   public:
    Follower(std::shared_ptr<ThreadRun> run, Place place);
    Follower(Follower&& other) noexcept = default;
    Follower& operator=(Follower&& other) noexcept {
      std::swap(run_, other.run_);
      std::swap(place_, other.place_);
      return *this;
    }
    ~Follower();

    // Sends all events, until the run has ended or the client has left.
    asio::awaitable<void> Follow(net::EventStream stream);

   private:
    std::shared_ptr<ThreadRun> run_;
    Place place_;
  };

 private:
  struct State {
    std::optional<Thread> thread;  // Once it has begun.
    std::optional<ResponseId> turn;
    std::vector<std::string> catch_up;
    std::vector<std::string> events;
    std::size_t bytes = 0;
    bool ended = false;
    std::size_t followers = 0;
    std::vector<std::shared_ptr<Wakeup>> sleepers;
  };

  template <typename Ready>
  asio::awaitable<bool> Until(Ready ready);
  void Wake();

  const std::string run_id_;
  mutable Guarded<State> state_;
};

}  // namespace caisson::agui
