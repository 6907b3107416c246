// A CellRegistry keeps cells that are made before their runs come, by owner and configuration.
//
//   auto prepared = cells.Take(key);              // when a run begins
//   cells.Foresee(key, *cell.preparation(), ...); // when it has ended
//
// Most cells need none of this: they take microseconds, or wait warm for whoever comes. A cell that shows directories
// of the host or has several processes can only be made for somebody, which takes milliseconds; so when such a
// configuration comes again, the cell of its next run is made while nobody waits. What a prepared cell is made of is all
// that the key holds. Code, tools, policy and environment come with the run, and whether the cell is still what the
// run needs, its directories the very same, is judged by the engine when the run begins: no configuration can be stale.
//
// Trust     A prepared cell has executed nothing, is given to runs of the owner it was made for alone, and to one run (I8).
//           Owners can push out each other's prepared cells, which costs time; they can make nobody wait, since such
//           cells take no place in the engine.
// Threads   Any. A prepared cell is touched on its own lane alone.
// Lifetime  Close() must have returned before it goes; the engine outlives it.
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

// What shapes a cell before there is a run in it.
struct CellKey {
  OwnerId owner;
  std::vector<workspace::MountSpec> mounts{};
  std::uint64_t processes = 1;
  std::uint64_t total_file_bytes = 0;
  std::uint64_t files = 0;

  bool operator==(const CellKey&) const = default;
};

struct CellRegistryOptions {
  std::size_t most = 16;  // That wait at once, each with a process of a megabyte; 0: none is made.
  std::size_t most_per_owner = 4;
  // How long one waits, and with it the host's directories it shows; about what a model thinks between two runs.
  std::chrono::nanoseconds idle = std::chrono::minutes(1);
  std::function<std::chrono::steady_clock::time_point()> now = std::chrono::steady_clock::now;
};

class CellRegistry {
 public:
  explicit CellRegistry(Engine& engine, CellRegistryOptions options = {})
      : engine_(engine), options_(std::move(options)) {}
  CellRegistry(const CellRegistry&) = delete;
  CellRegistry& operator=(const CellRegistry&) = delete;

  // Whether there can be anything to take.
  bool empty();
  // How many wait just now, as far as the engine has not ended any.
  std::size_t waiting();
  // One that was made for this, for OpenOptions::prepared; null if there is none.
  std::shared_ptr<PreparedCell> Take(const CellKey& key);

  // A run of this configuration has ended, and `preparation` would have helped it. If it was not the first within
  // `idle`, there is room and no run waits for the engine, a cell is made on `executor`, which must last until
  // Close() has returned.
  void Foresee(CellKey key, Preparation preparation, const asio::any_io_executor& executor);

  // Hands out and makes no more, from now on.
  void Shut();
  // The same; returns when those that wait, and those that are being made, are gone without a trace. Any number
  // of times, also while runs are under way.
  asio::awaitable<void> Close();

 private:
  using Time = std::chrono::steady_clock::time_point;
  using Cells = std::vector<std::shared_ptr<PreparedCell>>;
  struct Waiting {
    std::shared_ptr<PreparedCell> cell;  // Ours, until it is taken.
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
