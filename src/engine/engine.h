// An Engine makes cells. A Cell runs code for one owner and reports how the run ended.
//
// Trust     Everything that a cell sends was written by an attacker. Engines bound and check it
//           (I9). Calls, output and outcomes that they pass on are still hostile content.
// Threads   An Engine may be called from any thread. A Cell belongs to one executor,
//           Cell::executor(): its members are called there, its events arrive there, and a
//           coroutine that awaits it resumes there. Cancel() may be called from any thread.
// Lifetime  A Cell serves one owner (I8). The cell and everything it held are gone when its
//           destructor returns to the executor. Cells must be destroyed before their Engine.
#pragma once

#include <array>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/strong_id.h"
#include "engine/host_files.h"
#include "engine/limits.h"
#include "engine/outcome.h"
#include "wire/frames.h"
#include "wire/value.h"

namespace caisson {

namespace asio = boost::asio;

// The owner of a cell: an isolation key, opaque here. Saved cells are restored only for the same
// owner, and waiting for a cell is fair between owners.
using OwnerId = StrongId<struct OwnerTag>;

using HostTime = std::chrono::system_clock::time_point;

struct InputFile {
  std::string path;                               // Absolute, below /input.
  std::shared_ptr<const std::string> contents{};  // Shared by all runs that read it.
};

// The readings of clocks and the results of waits that a run received between the previous call and
// call `seq`. Opaque outside of the engine, and hostile: the cell writes parts of it.
struct TracePart {
  std::uint32_t seq = 0;
  std::string bytes{};
};
// Returns whether something before the end of this part was not recorded because the trace was full
// (wire::kMaxTraceBytes).
inline bool IsCut(std::string_view part) {
  return !part.empty() && (static_cast<std::uint8_t>(part.front()) & wire::kTraceCut) != 0;
}

// Makes a run repeatable. The random bytes of the run come from `seed`. The readings of its clocks
// and the results of its waits are recorded and passed on with its calls (ToolCall::trace).
struct Recording {
  std::string seed;                 // 32 bytes.
  std::vector<TracePart> replay{};  // In order. Empty: the run is not a replay.
  // The run is a replay. An engine that cannot repeat a run fails with kFailedPrecondition and
  // executes nothing.
  bool must_repeat = false;
};

enum class Purpose { kRun, kCheck };  // kCheck: executes nothing; the outcome lists the findings.

struct RunRequest {
  std::string code;
  Limits limits{};
  // Wall time that the worker allows the run beyond limits.wall_time, because the caller measures
  // that time itself.
  std::chrono::nanoseconds spare_wall_time{};
  std::vector<std::string> tools{};  // Names of the functions that the code can call.
  // The same tools with their signatures, or null: the list in guest/abi.h, encoded once for many
  // runs.
  std::shared_ptr<const std::string> signatures{};
  // The complete os.environ of the run.
  std::shared_ptr<const std::map<std::string, std::string>> environment{};
  std::vector<InputFile> files{};
  std::optional<Recording> recording{};
  Purpose purpose = Purpose::kRun;
  // The policy for the code, in the format of guest/abi.h. None: everything is allowed.
  Value policy{};
  // Top-level modules that engine native has and that the code may use; shared by many runs. If
  // this is set, an import that cannot be resolved is a finding, and an import of one of these
  // modules is listed in Outcome::native_modules.
  std::shared_ptr<const std::vector<std::string>> native_packages{};
  // Modules that the code imports, if known. The cell may start with them loaded.
  std::vector<std::string> modules{};
};

// The requirements that a cell is made for before its run arrives: those parts of a run request
// that determine which cell is made.
struct Preparation {
  Limits limits{};
  std::vector<std::string> modules{};             // As in RunRequest.
  std::shared_ptr<const HostFiles> host_files{};  // The mounts of an earlier run, or equal ones.
  // The cell is discarded if no run takes it within this time.
  std::chrono::nanoseconds keep{};
  // Released when a run takes the cell, or when the cell is completely gone.
  std::shared_ptr<void> witness{};
};

// A fresh cell that waits for its run. It has executed nothing and has no owner yet. Destroying it,
// on any thread, ends the cell.
class PreparedCell {
 public:
  virtual ~PreparedCell() = default;
  PreparedCell(const PreparedCell&) = delete;
  PreparedCell& operator=(const PreparedCell&) = delete;

 protected:
  PreparedCell() = default;
};

struct ToolCall {
  std::uint32_t seq = 0;
  std::string tool{};
  // Calls of a cell arrive packed, as one encoded [tool, positional, keywords]. Decoding can take
  // milliseconds and 40 times the memory, so the receiver decides when and on which thread to call
  // Unpack.
  std::string packed{};
  List positional{};
  Dict keywords{};
  std::string trace{};  // For a recorded run: the part of the trace that ends with this call.
};

// Decodes `packed`, which stays unchanged, into `positional` and `keywords`. Does nothing if
// `packed` is empty. Fails with kResourceExhausted if the budget is used up, and with
// kInvalidArgument if the cell encoded something else.
Result<void> Unpack(ToolCall& call, DecodeBudget& budget);
Result<void> Unpack(ToolCall& call);  // With a budget of kMaxDecodedBytes.

struct ToolRaised {
  std::string type;
  std::string message{};
};
struct ToolDenied {
  std::string message{};
};
using ToolAnswer = std::variant<Value, ToolRaised, ToolDenied>;

enum class OutputStream { kStdout, kStderr };

// Receives the events of a run. Called on the cell's executor; must not block.
class RunEvents {
 public:
  virtual ~RunEvents() = default;
  virtual void OnOutput(OutputStream stream, std::string_view bytes) = 0;
  // The code calls a tool. The call is packed. Answer it, now or later, through Cell::Answer with
  // the same seq.
  virtual void OnCall(ToolCall call) = 0;
  // A recorded run begins a long sleep (wire::kLongSleepNs) until this time, and can be saved while
  // it sleeps. nullopt: the sleep is over.
  virtual void OnSleep(std::optional<HostTime> /*until*/) {}
};

// Identifies the live process that made a saved cell, for engines whose cells can only be restored
// by that process.
struct CellOrigin {
  OwnerId owner;
  std::size_t lane = 0;
  std::uint64_t parent = 0;  // A number that is unique in this process.
};

// A cell as bytes, exactly as the worker sent them. Seal them before storing them (engine/seal.h).
// A cell with an origin is only used for branching and is never stored.
struct SavedCell {
  std::string bytes;
  std::optional<CellOrigin> origin{};
  std::optional<HostTime> wake_at{};  // The cell sleeps and continues by itself at this time.
  std::string tail{};                 // For a recorded run: its trace since its last call.
  std::vector<TracePart> replay{};    // For Restore: the trace of the run after it was saved.
};

enum class AfterRun { kDiscard, kKeep };   // kKeep: the next Run continues in the same __main__.
enum class AfterSave { kDiscard, kKeep };  // kKeep: this cell continues as well (a branch).

class Cell {
 public:
  virtual ~Cell() = default;
  Cell(const Cell&) = delete;
  Cell& operator=(const Cell&) = delete;

  virtual asio::any_io_executor executor() const = 0;

  // Runs `request.code` to its end. The result of the guest is in the Outcome, including its calls
  // and its boundary. An Error means that the engine could not run the code. Fails with kCancelled
  // after Cancel(). `events` must outlive the coroutine. Only one Run at a time.
  virtual asio::awaitable<Result<Outcome>> Run(RunRequest request, RunEvents& events,
                                               AfterRun after) = 0;

  // Continues a restored cell whose run was under way when it was saved. Otherwise as Run.
  virtual asio::awaitable<Result<Outcome>> Continue(RunEvents& events, AfterRun after) = 0;

  // Answers a call. Fails if the call is not open: its seq is unknown or was answered before.
  Result<void> Answer(std::uint32_t seq, ToolAnswer answer) {
    return AnswerAt(seq, std::move(answer), std::chrono::system_clock::now());
  }
  // The same. `now` is the time at which the answer was first given.
  virtual Result<void> AnswerAt(std::uint32_t seq, ToolAnswer answer, HostTime now) = 0;

  // Turns a cell into bytes if it is idle, parked in a call, or in a long sleep
  // (RunEvents::OnSleep). Fails with kFailedPrecondition if the cell is computing or holds
  // something that cannot be saved. Fails with kInvalidArgument if this engine can never save
  // cells, or cannot save them during a run. With kDiscard the current Run ends with status
  // kWaiting and the cell is empty.
  virtual asio::awaitable<Result<SavedCell>> Save(AfterSave after) = 0;

  // Ends the current run. Safe from any thread, any number of times.
  virtual void Cancel() = 0;

  // Returns whether the next Run would continue with the state that a kept run left. False in a
  // fresh cell and after a run that destroyed the state (a limit, a crash, a cancel): the next Run
  // then starts fresh or fails.
  virtual bool holds_state() const = 0;

  // After a run whose cell was made on demand or prepared: the argument for Engine::Prepare with
  // which the next similar run finds a prepared cell. nullopt: the engine keeps cells ready for
  // such runs anyway.
  virtual std::optional<Preparation> preparation() const { return std::nullopt; }

 protected:
  Cell() = default;
};

struct EngineStats {
  std::uint64_t runs_started = 0;
  std::uint64_t runs_ended = 0;
  std::uint64_t workers_started = 0;
  std::uint64_t workers_lost = 0;
  std::uint64_t cells_live = 0;
  std::uint64_t waiting = 0;  // Requests waiting for a cell.
  std::uint64_t refused = 0;  // Rejected because too many requests were waiting.

  EngineStats& operator+=(const EngineStats& more) {
    runs_started += more.runs_started;
    runs_ended += more.runs_ended;
    workers_started += more.workers_started;
    workers_lost += more.workers_lost;
    cells_live += more.cells_live;
    waiting += more.waiting;
    refused += more.refused;
    return *this;
  }
};

// The build that made a saved cell. Only the same build can restore the cell.
struct CellBuild {
  std::array<std::uint8_t, 20> build_id{};
  std::array<std::uint8_t, 32> base_hash{};
  bool operator==(const CellBuild&) const = default;
};

struct OpenOptions {
  OwnerId owner;
  // Maximum time to wait for a free cell.
  std::chrono::nanoseconds wait = std::chrono::seconds(30);
  // The host directories that the cell sees, shared with the cell. A restored cell needs mounts
  // equal to those it was saved with.
  std::shared_ptr<HostFiles> host_files{};
  // A prepared cell of this engine for this owner. The first run uses it if it matches the needs of
  // that run and was made for exactly the directories of `host_files`. Otherwise it is discarded
  // and the run gets another cell.
  std::shared_ptr<PreparedCell> prepared{};
};

class Engine {
 public:
  virtual ~Engine() = default;

  // Returns a fresh cell. Waits for its turn, which is fair between owners. Fails with
  // kDeadlineExceeded after `options.wait`, with kResourceExhausted if too many requests wait
  // already, and with kUnavailable if the boundary cannot be established (I12).
  virtual asio::awaitable<Result<std::unique_ptr<Cell>>> Open(OpenOptions options) = 0;

  // Restores a cell from saved bytes, for the owner that saved it, at the point where it waited.
  // Fails with the reason if another build saved the cell or if its origin is gone, and with
  // kInternal if restoring it crashed its worker. To branch a cell, restore the same bytes twice.
  virtual asio::awaitable<Result<std::unique_ptr<Cell>>> Restore(OpenOptions options,
                                                                 SavedCell saved,
                                                                 Limits limits) = 0;

  // Makes a cell for a future run. A prepared cell does not count against the capacity: no request
  // waits or fails because of it. Returns null if this engine has nothing to prepare.
  virtual asio::awaitable<Result<std::shared_ptr<PreparedCell>>> Prepare(
      Preparation /*preparation*/) {
    co_return std::shared_ptr<PreparedCell>();
  }

  virtual EngineStats stats() const = 0;

  // The maximum number of cells that one owner may hold. Further requests of that owner wait.
  virtual std::size_t cells_per_owner() const { return SIZE_MAX; }

  // The build that cells saved now are bound to. nullopt: this engine cannot save cells.
  virtual std::optional<CellBuild> build() const { return std::nullopt; }

  // Packages beyond the standard library that code may import here if the policy allows it. Null:
  // none.
  virtual std::shared_ptr<const std::vector<std::string>> native_packages() const { return {}; }
};

}  // namespace caisson
