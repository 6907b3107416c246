// A CellRegistry makes cells ahead of their runs and keeps them by owner and configuration.
//
//   auto prepared = cells.Take(key);              // when a run begins
//   cells.Foresee(key, *cell.preparation(), ...); // when it has ended
//
// Most cells do not need this: they are made in microseconds, or any owner can use a warm one. A
// cell with mounts or several processes is made for one owner, which takes milliseconds. So if an
// owner uses such a configuration again, the cell for its next run is made ahead. The key has
// everything that a prepared cell is made of. Code, tools, policy and environment come with the
// run. When the run begins, the engine checks that the cell still fits it, including the identity
// of its directories, so no configuration can be stale.
//
// Trust     A prepared cell has executed nothing, and is used for one run of its owner only (I8).
//           Owners can displace each other's prepared cells, which costs time. They cannot make
//           other runs wait, because these cells take no place in the engine.
// Threads   Any. A prepared cell is used on its own lane only.
// Lifetime  Close() must have returned before it is destroyed. The engine outlives it.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <utility>
#include <vector>

#include "base/guarded.h"
#include "engine/engine.h"
#include "runs/cells/shutdown_gate.h"
#include "workspace/mount.h"

namespace caisson {

// The properties of a cell that are fixed before its run.
struct CellKey {
  OwnerId owner;
  std::vector<workspace::MountSpec> mounts{};
  std::uint64_t processes = 1;
  std::uint64_t total_file_bytes = 0;
  std::uint64_t files = 0;

  bool operator==(const CellKey&) const = default;
};

struct CellRegistryOptions {
  std::size_t most = 16;  // Cells that wait; 0: none is made. Each is a process of a megabyte.
  std::size_t most_per_owner = 4;
  // How long a cell waits and keeps the host's directories open. About the time that a model needs
  // between two runs.
  std::chrono::nanoseconds idle = std::chrono::minutes(1);
  std::function<std::chrono::steady_clock::time_point()> now = std::chrono::steady_clock::now;
};

class CellRegistry {
 public:
  explicit CellRegistry(Engine& engine, CellRegistryOptions options = {})
      : engine_(engine), options_(std::move(options)) {}
  CellRegistry(const CellRegistry&) = delete;
  CellRegistry& operator=(const CellRegistry&) = delete;

  // Returns false if Take() may find a cell.
  bool empty();
  // Returns the number of waiting cells, including those that the engine has ended meanwhile.
  std::size_t waiting();
  // Returns a cell that was made for this key, for OpenOptions::prepared; null: there is none.
  std::shared_ptr<PreparedCell> Take(const CellKey& key);

  // A run of this configuration has ended, and `preparation` would have helped it. If it was not
  // the first within `idle`, there is room and no run waits for the engine, a cell is made on
  // `executor`, which must last until Close() has returned.
  void Foresee(CellKey key, Preparation preparation, const asio::any_io_executor& executor);

  // From now on no cell is made or returned.
  void Shut();
  // Same as Shut(), but returns when all waiting cells, and those that are being made, are
  // destroyed. Can be called several times, also during runs.
  asio::awaitable<void> Close();

 private:
  using Time = std::chrono::steady_clock::time_point;
  using Cells = std::vector<std::shared_ptr<PreparedCell>>;
  struct Waiting {
    std::shared_ptr<PreparedCell> cell;  // Owned until it is taken.
    Time since;
  };
  // A configuration that has been seen.
  struct Entry {
    CellKey key;
    Time last_used;
    std::vector<Waiting> waiting{};  // The last is the newest.
    std::size_t making = 0;

    std::size_t cells() const { return waiting.size() + making; }
  };
  using Entries = std::list<Entry>;  // The last used in front.
  struct State {
    Entries entries;
    bool closed = false;
  };

  Entries::iterator Find(State& state, const CellKey& key) const;
  void LetGoIdle(State& state, Cells& gone) const;
  bool MakeRoom(State& state, const Entry& entry, Cells& gone) const;
  void Forget(State& state, Cells& gone) const;
  asio::awaitable<void> Make(CellKey key, Preparation preparation);
  void Keep(const CellKey& key, std::shared_ptr<PreparedCell> cell);

  Engine& engine_;
  const CellRegistryOptions options_;
  ShutdownGate gate_;
  Guarded<State> state_;
};

}  // namespace caisson
