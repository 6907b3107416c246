// A SessionRegistry keeps stateful cells by owner and name: one run at a time in each, a bounded number of
// them, and none for longer than it is used.
//
//   auto entered = co_await sessions.Enter({owner, "analysis"});      // waits for its turn
//
// A session ends when it is told to, when nobody used it for a while, when others need the room, or when a run
// takes its state along (a limit, a crash, a cancel). All but the first are losses its user did not ask for:
// the name is remembered, and whoever comes next is told, until somebody begins afresh on purpose.
//
// Trust     Names are the client's. An owner reaches its own sessions only; there is no way to ask for others'
//           (I3, I4), and no number of them costs another owner its turn. If there are too many in all, an idle one of
//           the owner that has most of them makes room.
// Threads   Any. A cell is touched only on its own executor, by whoever has the turn.
// Lifetime  Close() must have returned before it goes; the engine outlives it.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/guarded.h"
#include "base/result.h"
#include "base/wakeup.h"
#include "engine/engine.h"
#include "runs/cells/shutdown_gate.h"
#include "store/ids.h"

namespace caisson {

struct SessionKey {
  OwnerId owner;
  std::string name;
  auto operator<=>(const SessionKey&) const = default;
};

struct SessionOptions {
  std::size_t most = 256;
  std::size_t most_per_owner = 16;
  std::size_t most_in_line = 64;  // Runs that wait for one session.
  std::chrono::nanoseconds idle = std::chrono::minutes(30);
  std::chrono::nanoseconds remembered = std::chrono::hours(24);  // That a session was lost.
  std::function<std::chrono::steady_clock::time_point()> now = std::chrono::steady_clock::now;
};

enum class Restart { kNo, kIfLost };

// The session that was there is not, and why.
struct SessionLost {
  std::string why;
};

class SessionRegistry {
  struct Session;

 public:
  // The right to use a session's cell, until it is destroyed.
  class Turn {
   public:
    Turn(Turn&& other) noexcept
        : registry_(other.registry_), session_(std::exchange(other.session_, nullptr)) {}
    Turn& operator=(Turn&&) = delete;
    ~Turn();

    // Random, made when the session begins and gone with it. Never told to the code: what a person allows "in this
    // session" is bound to it, and a later session of the same name has another one.
    const SessionId& id() const;
    // Null in a session that has just begun. Used on its own executor only.
    Cell* cell() const;
    void Adopt(std::unique_ptr<Cell> cell);
    // The session is no more. With a reason it is remembered as lost, without it is forgotten.
    void End(std::optional<std::string> why);

   private:
    friend class SessionRegistry;
    Turn(SessionRegistry& registry, std::shared_ptr<Session> session)
        : registry_(&registry), session_(std::move(session)) {}

    SessionRegistry* registry_;
    std::shared_ptr<Session> session_;
  };
  using Entered = std::variant<Turn, SessionLost>;

  explicit SessionRegistry(Engine& engine, SessionOptions options = {})
      : engine_(engine), options_(std::move(options)) {}
  SessionRegistry(const SessionRegistry&) = delete;
  SessionRegistry& operator=(const SessionRegistry&) = delete;

  // Waits for its turn in the session, which is begun if there is none of this name.
  // kInvalidArgument: no name for a session. kResourceExhausted: too many wait for this session, or there
  // is no room and nothing idle to make some. kCancelled, kUnavailable: cancelled, closed.
  asio::awaitable<Result<Entered>> Enter(SessionKey key, Restart restart = Restart::kNo);

  // Begins session `to` where `from` is now; both go their own ways from there. `to` has an id of its own, so what a
  // person allowed in `from` is not allowed in `to`. kNotFound: there is no
  // `from`. kFailedPrecondition: `to` is there already, or the engine cannot copy a cell.
  struct ForkOptions {
    std::shared_ptr<HostFiles> host_files{};  // Mounts like those of `from`, for `to` alone.
    Limits limits{};
  };
  asio::awaitable<Result<void>> Fork(SessionKey from, std::string to, ForkOptions options);

  // Ends a session, after the runs that came before. One that is not there is ended already.
  asio::awaitable<Result<void>> End(SessionKey key);

  // Ends those that nobody has used for `options.idle`. Enter() does so too, now and then; a server
  // calls it for the time when nobody enters.
  void EndIdle();

  // The names of an owner's sessions, in order.
  std::vector<std::string> Names(const OwnerId& owner);

  // Lets nobody in, sends home who waits, and returns when the turns are over and all cells are gone.
  asio::awaitable<void> Close();

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Waiter;
  struct Lost {
    std::string name;
    std::string why;
    Time since;
  };
  struct Owner {
    std::map<std::string, std::shared_ptr<Session>> sessions;
    std::deque<Lost> lost;  // The oldest in front.
  };
  struct State {
    std::map<OwnerId, Owner> owners;
    std::size_t sessions = 0;
    Time next_sweep{};
    bool closed = false;
  };
  // What is left to do once the lock is released.
  struct Afterwards {
    std::vector<std::shared_ptr<Session>> gone;
    std::vector<std::shared_ptr<Wakeup>> woken;
  };

  // Nothing: `waiter` stands in line now.
  Result<std::optional<Entered>> TryEnter(const SessionKey& key, Restart restart,
                                          const std::shared_ptr<Waiter>& waiter,
                                          ShutdownGate::Pass pass, Afterwards& afterwards);
  Result<Turn> Begin(State& state, const SessionKey& key, ShutdownGate::Pass pass,
                     Afterwards& afterwards);
  Result<Turn> BeginNew(const SessionKey& key);
  Result<void> MakeRoom(State& state, const OwnerId& owner, Afterwards& afterwards) const;
  void Sweep(State& state, Afterwards& afterwards) const;
  void Remove(State& state, const std::shared_ptr<Session>& session, std::optional<std::string> why,
              Afterwards& afterwards) const;
  bool Exists(const SessionKey& key);
  void StopWaiting(const SessionKey& key, const std::shared_ptr<Waiter>& waiter);
  void Leave(std::shared_ptr<Session> session);
  asio::awaitable<Result<std::unique_ptr<Cell>>> Copy(const Turn& turn, OwnerId owner,
                                                      ForkOptions options);
  static void Finish(Afterwards afterwards);

  Engine& engine_;
  const SessionOptions options_;
  ShutdownGate gate_;
  Guarded<State> state_;
};

}  // namespace caisson
