// An Engine makes cells; a Cell runs code for one owner and says how it ended.
//
// Trust     Everything a cell says was written by an attacker; engines bound and check it (I9), and
//           what they hand on (calls, output, outcomes) stays hostile content.
// Threads   An Engine may be called from any thread. A Cell belongs to one executor,
//           Cell::executor(): its members are called there, its events arrive there, and a coroutine
//           that awaits it resumes there. Cancel() may be called from any thread.
// Lifetime  A Cell serves one owner (I8) and is gone, with all it held, when its destructor returns to
//           the executor. Cells must be gone before their Engine.
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

// Whose cell it is: an isolation key, opaque here. Saved cells are restored only for the same owner,
// and waiting for a cell is fair between owners.
using OwnerId = StrongId<struct OwnerTag>;

using HostTime = std::chrono::system_clock::time_point;

struct InputFile {
  std::string path;                               // Absolute, below /input.
  std::shared_ptr<const std::string> contents{};  // Shared by the runs that read it.
};

// What a run was told by its clocks and waits before call `seq` and after the one before it. Opaque outside of the engine,
// and hostile: the cell has a part in writing it.
struct TracePart {
  std::uint32_t seq = 0;
  std::string bytes{};
};
// Whether something before the end of this part was not recorded, because there was too much (wire::kMaxTraceBytes).
inline bool IsCut(std::string_view part) {
  return !part.empty() && (static_cast<std::uint8_t>(part.front()) & wire::kTraceCut) != 0;
}

// A run that may be replayed later: its random bytes come from `seed`; what its clocks tell and how its waits end is
// recorded, and given along with its calls (ToolCall::trace).
struct Recording {
  std::string seed;                 // 32 bytes.
  std::vector<TracePart> replay{};  // In order. Empty: everything is new.
  // A replay: an engine that cannot repeat a run refuses it (kFailedPrecondition) and executes nothing.
  bool must_repeat = false;
};

enum class Purpose { kRun, kCheck };  // kCheck: nothing is executed; the outcome has the findings.

struct RunRequest {
  std::string code;
  Limits limits{};
  // What the worker gives the run beyond limits.wall_time, because the caller counts that time itself.
  std::chrono::nanoseconds spare_wall_time{};
  std::vector<std::string> tools{};  // Names that are functions in the code.
  // The same with their signatures, if not empty: the list of guest/abi.h, encoded once for many runs.
  std::shared_ptr<const std::string> signatures{};
  // All of os.environ.
  std::shared_ptr<const std::map<std::string, std::string>> environment{};
  std::vector<InputFile> files{};
  std::optional<Recording> recording{};
  Purpose purpose = Purpose::kRun;
  Value policy{};  // What the code may contain, as guest/abi.h has it. None: everything.
  // Top-level modules that engine native has and the code may use; shared by many runs. Given, an import
  // that leads nowhere is a finding, and one that leads there is Outcome::native_modules.
  std::shared_ptr<const std::vector<std::string>> native_packages{};
  std::vector<std::string> modules{};  // That the code imports, if known: it may start warmer.
};

// What a cell is made for before its run is there: what such a run needs, as far as that shapes the cell.
struct Preparation {
  Limits limits{};
  std::vector<std::string> modules{};             // As RunRequest has them.
  std::shared_ptr<const HostFiles> host_files{};  // Those of a run before, or like them.
  std::chrono::nanoseconds keep{};                // Without a run for so long, it goes by itself.
  std::shared_ptr<void> witness{};  // Let go when a run has it, or when nothing of it is left.
};

// A fresh cell that waits for its run. It has executed nothing and is nobody's yet. Whoever lets go of it,
// on any thread, ends it.
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
  // A call of a cell arrives packed: one encoded [tool, positional, keywords]. Decoded it can take 40 times the memory and
  // milliseconds, so the receiver decides when and on which thread to Unpack it.
  std::string packed{};
  List positional{};
  Dict keywords{};
  std::string trace{};  // Of a recorded run: the part that ends with this call.
};

// Decodes `packed`, which stays as it is, into `positional` and `keywords`. Does nothing if it is empty. Fails with
// kResourceExhausted if the budget is used up, with kInvalidArgument if the cell encoded something else.
Result<void> Unpack(ToolCall& call, DecodeBudget& budget);
Result<void> Unpack(ToolCall& call);  // Within kMaxDecodedBytes.

struct ToolRaised {
  std::string type;
  std::string message{};
};
struct ToolDenied {
  std::string message{};
};
using ToolAnswer = std::variant<Value, ToolRaised, ToolDenied>;

enum class OutputStream { kStdout, kStderr };

// What happens while code runs. Called on the cell's executor; must not block.
class RunEvents {
 public:
  virtual ~RunEvents() = default;
  virtual void OnOutput(OutputStream stream, std::string_view bytes) = 0;
  // The call is packed. The answer is given, now or later, through Cell::Answer with the same seq.
  virtual void OnCall(ToolCall call) = 0;
  // A recorded run begins a long sleep (wire::kLongSleepNs), and can be saved in it; nothing: it goes on.
  virtual void OnSleep(std::optional<HostTime> /*until*/) {}
};

// Whom alone a saved cell can be taken back by, where that is no build but one living process.
struct CellOrigin {
  OwnerId owner;
  std::size_t lane = 0;
  std::uint64_t parent = 0;  // Counted in this process.
};

// A cell as bytes, as the worker gave it: to be sealed before it is stored (engine/seal.h). One that has an origin is
// for branching, and never stored.
struct SavedCell {
  std::string bytes;
  std::optional<CellOrigin> origin{};
  std::optional<HostTime> wake_at{};  // It sleeps, and goes on by itself then.
  std::string tail{};                 // Of a recorded run: its trace since its last call.
  std::vector<TracePart> replay{};    // For Restore: what the run was told after it was saved.
};

enum class AfterRun { kDiscard, kKeep };   // kKeep: the next Run goes on in the same __main__.
enum class AfterSave { kDiscard, kKeep };  // kKeep: this cell goes on too (a branch).

class Cell {
 public:
  virtual ~Cell() = default;
  Cell(const Cell&) = delete;
  Cell& operator=(const Cell&) = delete;

  virtual asio::any_io_executor executor() const = 0;

  // Runs `request.code` to its end. The guest's fate is in the Outcome (its calls and boundary
  // included); an Error means that we could not run it. Ends early with kCancelled after Cancel().
  // `events` must stay until the coroutine has ended. One Run at a time.
  virtual asio::awaitable<Result<Outcome>> Run(RunRequest request, RunEvents& events,
                                               AfterRun after) = 0;

  // Goes on with a restored cell whose run was under way: as Run, from where it was saved.
  virtual asio::awaitable<Result<Outcome>> Continue(RunEvents& events, AfterRun after) = 0;

  // Answers a call. Answers to calls that are not open (unknown seq, answered before) are refused.
  Result<void> Answer(std::uint32_t seq, ToolAnswer answer) {
    return AnswerAt(seq, std::move(answer), std::chrono::system_clock::now());
  }
  // The same; `now` is when the answer was given first.
  virtual Result<void> AnswerAt(std::uint32_t seq, ToolAnswer answer, HostTime now) = 0;

  // Turns a cell that is idle, parked in a call, or in a long sleep (RunEvents::OnSleep) into bytes.
  // kFailedPrecondition if it computes just now, or holds what cannot be saved; kInvalidArgument if this engine's cells can never be, or not
  // while a run is under way. With kDiscard the Run under way ends with status kWaiting and the cell is empty.
  virtual asio::awaitable<Result<SavedCell>> Save(AfterSave after) = 0;

  // Ends the run under way; safe from any thread, any number of times.
  virtual void Cancel() = 0;

  // Whether the next Run would go on in what a kept run left. False in a fresh cell and after a run
  // that took the state with it (a limit, a crash, a cancel): that Run would begin afresh, or fail.
  virtual bool holds_state() const = 0;

  // After a run for which the cell had to be made, or had been: what to tell Engine::Prepare so that the next
  // run like it finds one made. Nothing where cells wait for such runs anyway.
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
  std::uint64_t refused = 0;  // Turned away because too many waited.

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

// What made a saved cell, and what alone can take it back.
struct CellBuild {
  std::array<std::uint8_t, 20> build_id{};
  std::array<std::uint8_t, 32> base_hash{};
  bool operator==(const CellBuild&) const = default;
};

struct OpenOptions {
  OwnerId owner;
  std::chrono::nanoseconds wait = std::chrono::seconds(30);  // How long to wait for a free cell.
  // The host's directories that the cell sees, shared with the cell. A restored cell needs mounts like
  // those it was saved with.
  std::shared_ptr<HostFiles> host_files{};
  // Of this engine and for this owner. The first run has it if it is what that run needs, its directories the
  // very ones of `host_files`; otherwise it goes, and the run has another.
  std::shared_ptr<PreparedCell> prepared{};
};

class Engine {
 public:
  virtual ~Engine() = default;

  // A fresh cell. Waits its turn, fairly between owners; kDeadlineExceeded when `options.wait` is
  // over, kResourceExhausted when too many wait already, kUnavailable when the boundary cannot be
  // had (I12).
  virtual asio::awaitable<Result<std::unique_ptr<Cell>>> Open(OpenOptions options) = 0;

  // A cell out of saved bytes, for the owner that saved it, waiting where it was. Refused with the
  // reason when it was saved by another build, or what it came from is gone; kInternal when it took its worker
  // down. Branching is restoring the same bytes twice.
  virtual asio::awaitable<Result<std::unique_ptr<Cell>>> Restore(OpenOptions options,
                                                                 SavedCell saved,
                                                                 Limits limits) = 0;

  // Makes a cell for a run to come. It takes no place: nobody waits, or is refused, because of it. Null: there
  // is nothing to be made ahead.
  virtual asio::awaitable<Result<std::shared_ptr<PreparedCell>>> Prepare(
      Preparation /*preparation*/) {
    co_return std::shared_ptr<PreparedCell>();
  }

  virtual EngineStats stats() const = 0;

  // The most cells that one owner may hold. Further requests of that owner wait.
  virtual std::size_t cells_per_owner() const { return SIZE_MAX; }

  // What cells saved now are bound to; nothing for an engine that saves none.
  virtual std::optional<CellBuild> build() const { return std::nullopt; }

  // Packages beyond the standard library that code may import here, if the policy lets it; null: none.
  virtual std::shared_ptr<const std::vector<std::string>> native_packages() const { return {}; }
};

}  // namespace caisson
