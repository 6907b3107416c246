// An EngineLane is the part of an engine that serves one core: an event loop with its own thread,
// and a source of fresh cells.
//
// Trust     Trusted. The processes behind its links are hostile.
// Threads   Everything runs on the lane's own thread, except where noted.
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
#include "engine/host/admission.h"
#include "engine/host/cell_link.h"

namespace caisson {

// State that the lanes and cells of an engine share.
struct EngineState {
  EngineState(Admission::Options admission_options, Limits limits_ceiling)
      : admission(admission_options), ceiling(limits_ceiling) {}

  EngineStats stats() const;

  Admission admission;
  const Limits ceiling;
  std::uint64_t max_saved_bytes = 0;  // 0: this engine cannot save cells.
  // Only cells without a run can be saved, for branching. Runs are not recorded.
  bool saves_idle_cells_only = false;
  // Modules that code may import under a policy in addition to those on the policy's lists, because
  // they are installed here. May be null.
  std::shared_ptr<const std::vector<std::string>> packages{};

  std::atomic<std::uint64_t> next_cell{1};
  std::atomic<std::uint64_t> runs_started{0};
  std::atomic<std::uint64_t> runs_ended{0};
  std::atomic<std::uint64_t> workers_started{0};  // For engine native: fork servers.
  std::atomic<std::uint64_t> workers_lost{0};
};

// The requirements of a run that must be known when its cell is made.
struct CellNeeds {
  std::uint64_t processes = 1;
  std::uint64_t total_file_bytes = 0;
  std::uint64_t files = 0;
  std::vector<std::string> modules{};             // Modules that the code imports, as far as known.
  std::shared_ptr<const HostFiles> host_files{};  // May be null.
  std::shared_ptr<PreparedCell> prepared{};       // May be null, or may not match the needs.
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
  // Returns the lane of the calling thread, or null.
  static EngineLane* Current();

  // Passes the link to a fresh cell for `owner` to `then`, at once or when there is one. If `then`
  // returns without starting anything in the cell, the cell is given to another request.
  virtual void WithFreshCell(const OwnerId& owner, CellNeeds needs, WithLink then) = 0;
  // Returns whether a cell for these needs is made only when its run arrives, unless it was
  // prepared.
  virtual bool MakesOnDemand(const CellNeeds& /*needs*/) const { return false; }

 protected:
  // Must be called first on the lane's thread. Makes it the lane's thread, names it, and pins it to
  // `cpu` if that is set.
  void BecomeCurrent(const std::string& name, std::optional<int> cpu);

 private:
  EngineState& state_;
  const std::size_t index_;
  asio::io_context context_{1};
};

// Returns the cores that this process may use.
std::vector<int> UsableCores();

}  // namespace caisson
