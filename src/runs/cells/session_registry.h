// A SessionRegistry keeps stateful cells by owner and name. Each serves one run at a time. Their
// number is limited, and idle ones are ended.
//
//   auto entered = co_await sessions.Enter({owner, "analysis"});      // waits for the earlier runs
//
// A session ends on request, when it is idle for too long, when others need the room, or when a run
// destroys its state (a limit, a crash, a cancellation). Except on request, the session counts as
// lost: its name is remembered, and the next run with that name gets an error, until a client
// restarts the session explicitly.
//
// Trust     Names come from the client. An owner reaches only its own sessions (I3, I4), and cannot
//           delay other owners by their number. If there are too many in total, an idle session of
//           the owner with the most sessions is ended.
// Threads   Any. A cell is used only on its own executor, by the holder of the turn.
// Lifetime  Close() must have returned before it is destroyed. The engine outlives it.
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
  std::chrono::nanoseconds remembered = std::chrono::hours(24);  // How long a loss is remembered.
  std::function<std::chrono::steady_clock::time_point()> now = std::chrono::steady_clock::now;
};

enum class Restart { kNo, kIfLost };

// The session was lost, and the reason.
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

    // A random id of this session; a later session of the same name has another one. Grants for a
    // session are bound to it. The code never learns it.
    const SessionId& id() const;
    // null: the session is new. Use the cell on its own executor only.
    Cell* cell() const;
    void Adopt(std::unique_ptr<Cell> cell);
    // Ends the session. With a reason it is remembered as lost; without one it is forgotten.
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

  // Waits for the turn in the session, and creates the session if it does not exist. Fails with
  // kInvalidArgument if the name is not valid, kResourceExhausted if too many runs wait for this
  // session or there is no room and no idle session, kCancelled if it was cancelled, kUnavailable
  // after Close().
  asio::awaitable<Result<Entered>> Enter(SessionKey key, Restart restart = Restart::kNo);

  // Creates session `to` as a copy of `from`. The two are independent afterwards. `to` has its own
  // id, so grants for `from` do not apply to it. Fails with kNotFound if there is no `from`,
  // kFailedPrecondition if `to` exists or the engine cannot copy the cell.
  struct ForkOptions {
    std::shared_ptr<HostFiles> host_files{};  // Mounts like those of `from`, for `to` alone.
    Limits limits{};
  };
  asio::awaitable<Result<void>> Fork(SessionKey from, std::string to, ForkOptions options);

  // Ends a session after the runs that already wait for it. Succeeds if there is no such session.
  asio::awaitable<Result<void>> End(SessionKey key);

  // Ends sessions that were idle for `options.idle`. Enter() does so too; a server also calls it
  // regularly.
  void EndIdle();

  // Returns the names of an owner's sessions, sorted.
  std::vector<std::string> Names(const OwnerId& owner);

  // Refuses new and waiting runs, and returns when all turns have ended and all cells are
  // destroyed.
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
    std::deque<Lost> lost;  // The oldest first.
  };
  struct State {
    std::map<OwnerId, Owner> owners;
    std::size_t sessions = 0;
    Time next_sweep{};
    bool closed = false;
  };
  // Work to do after the lock is released.
  struct Afterwards {
    std::vector<std::shared_ptr<Session>> gone;
    std::vector<std::shared_ptr<Wakeup>> woken;
  };

  // Returns nullopt if `waiter` now waits in line.
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
