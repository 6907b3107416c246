// An EngineLane is one core's part of an engine as cells see it: an event loop with a thread of its own,
// and a way to a fresh cell.
//
// Trust     Ours; what is behind its links is hostile.
// Threads   Everything on the lane's own thread, except where it says otherwise.
// Lifetime  Owned by the engine, which outlives the cells.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"
#include "engine/session/admission.h"
#include "engine/session/cell_link.h"

namespace caisson {

// What lanes and cells of an engine have in common.
struct EngineState {
  EngineState(Admission::Options admission_options, Limits limits_ceiling)
      : admission(admission_options), ceiling(limits_ceiling) {}

  EngineStats stats() const;

  Admission admission;
  const Limits ceiling;
  std::uint64_t max_saved_bytes = 0;  // 0: this engine cannot save cells.
  // Only those without a run, to be branched. Runs are not recorded.
  bool saves_idle_cells_only = false;
  // What code may import under a policy besides the modules of its lists, since it is here. May be null.
  std::shared_ptr<const std::vector<std::string>> packages{};

  std::atomic<std::uint64_t> next_cell{1};
  std::atomic<std::uint64_t> runs_started{0};
  std::atomic<std::uint64_t> runs_ended{0};
  std::atomic<std::uint64_t> workers_started{0};  // Or nurseries.
  std::atomic<std::uint64_t> workers_lost{0};
};

// What a cell must be able to take, as far as that has to be known when it is made.
struct CellNeeds {
  std::uint64_t processes = 1;
  std::uint64_t total_file_bytes = 0;
  std::uint64_t files = 0;
  std::vector<std::string> modules{};             // That the code imports, as far as that is known.
  std::shared_ptr<const HostFiles> host_files{};  // May be null.
  std::shared_ptr<PreparedCell> prepared{};       // May be null, or not what is needed.
};

class EngineLane {
 public:
  using WithLink = std::move_only_function<void(Result<CellLink*>)>;

  EngineLane(EngineState& state, std::size_t index) : state_(state), index_(index) {}
  EngineLane(const EngineLane&) = delete;
  EngineLane& operator=(const EngineLane&) = delete;
  virtual ~EngineLane() = default;

  // Any thread.
  asio::io_context& context() { return context_; }
  asio::any_io_executor executor() { return context_.get_executor(); }
  EngineState& state() const { return state_; }
  std::size_t index() const { return index_; }
  bool is_current() const { return Current() == this; }
  // The lane whose thread this is, or null.
  static EngineLane* Current();

  // Hands over the link to a fresh cell for `owner`: at once, or when there is one. A cell in which nothing
  // was started by the time `then` returns is given to somebody else.
  virtual void WithFreshCell(const OwnerId& owner, CellNeeds needs, WithLink then) = 0;
  // Whether a cell for these needs is made when its run is there, unless it was prepared.
  virtual bool MakesOnDemand(const CellNeeds& /*needs*/) const { return false; }

 protected:
  // The first thing the lane's thread does: it becomes the lane's, named and tied to `cpu`, if any.
  void BecomeCurrent(const std::string& name, std::optional<int> cpu);

 private:
  EngineState& state_;
  const std::size_t index_;
  asio::io_context context_{1};
};

// The cores this process may use.
std::vector<int> UsableCores();

}  // namespace caisson
