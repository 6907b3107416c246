#include "engine/wasm/worker/worker.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "wire/value.h"

namespace caisson::worker {
namespace {

// Number of cells kept for the next runs: enough that one is hardly ever made, few enough to hold
// little memory.
constexpr std::size_t kMaxSpareCells = 16;
// A cell that has used up its slice runs after at most this many others.
constexpr int kMaxFreshInARow = 8;
constexpr std::uint64_t kSavePatienceNs = 100'000'000;
// Work for one cell before others have their turn, each at most half a millisecond.
constexpr int kFramesPerTurn = 16;
// While runs are quick, their starts stay in the ring until it is nearly their turn. So they follow
// one another in a few cells, whose pages are warm, instead of having one cold cell each.
constexpr std::size_t kReadAhead = 2;
constexpr std::uint64_t kShrinkBytes = 16 << 20;

Worker* g_worker = nullptr;

// Frames come from our host: an invalid one is a bug, and a jailed process that continues after a
// bug would be worse than none.
[[noreturn]] void Malformed() {
  std::abort();
}

template <typename T>
T TakeHeader(std::string_view& payload) {
  T header;
  if (payload.size() < sizeof header) Malformed();
  std::memcpy(&header, payload.data(), sizeof header);
  payload.remove_prefix(sizeof header);
  return header;
}

std::string_view TakeBytes(std::string_view& payload, std::uint64_t length) {
  if (length > payload.size()) Malformed();
  const std::string_view bytes = payload.substr(0, length);
  payload.remove_prefix(length);
  return bytes;
}

template <typename T>
T& Get(Value& value) {
  auto* got = std::get_if<T>(&value.variant());
  if (got == nullptr) Malformed();
  return *got;
}

struct GivenFiles {
  std::vector<InputFile> inputs;
  std::vector<Mount> mounts;
};

// Decodes the list that follows a request: (path, contents) and (path, mode, write_bytes_limit).
GivenFiles DecodeFiles(std::string_view payload) {
  GivenFiles given;
  if (payload.empty()) return given;
  DecodeBudget budget(kAnyDecodedBytes);  // The host bounds its files.
  auto value = DecodeValue(payload, budget);
  if (!value) Malformed();
  for (Value& item : Get<List>(*value).items) {
    auto& fields = Get<Tuple>(item).items;
    if (fields.size() == 2) {
      given.inputs.push_back(
          {Get<std::string>(fields[0]),
           std::make_shared<const std::string>(std::move(Get<Bytes>(fields[1]).data))});
    } else if (fields.size() == 3) {
      given.mounts.push_back(
          {.path = Get<std::string>(fields[0]),
           .writable = Get<std::int64_t>(fields[1]) != wire::kReadOnlyMount,
           .write_bytes_limit = static_cast<std::uint64_t>(Get<std::int64_t>(fields[2]))});
    } else {
      Malformed();
    }
  }
  return given;
}

}  // namespace

Worker::Worker(const BaseFile& base, const LibraryImage& library, DirtyPages& dirty,
               HostChannel& channel, std::span<const std::uint8_t> build_id, WorkerOptions options)
    : base_(base),
      library_(library),
      dirty_(dirty),
      channel_(channel),
      build_id_(build_id),
      options_(options) {
  g_worker = this;
}

Result<void> Worker::Prepare() {
  TRY_ASSIGN(auto cell, MakeCell());
  cell->memory().Prefault();
  clean_.push_back(std::move(cell));
  return {};
}

void Worker::Run() {
  while (true) {
    HandleFrames();
    HandleTimers();
    CleanUpSlice();
    if (WorkerCell* cell = PickNext()) {
      RunSlice(*cell);
    } else if (!channel_.has_next() && ending_.empty() && discarded_.empty()) {
      Wait();
    }
  }
}

void Worker::Wait() {
  if (clean_.empty()) {
    // Made now, so that the next run need not wait for it.
    if (auto cell = MakeCell()) {
      (*cell)->memory().Prefault();
      clean_.push_back(std::move(*cell));
    }
    if (channel_.has_next()) return;
  }
  std::int64_t timeout = -1;
  if (!timers_.empty()) {
    const std::uint64_t now = MonotonicNow();
    const std::uint64_t at = timers_.begin()->first;
    timeout = at > now ? static_cast<std::int64_t>(at - now) : 0;
  }
  channel_.Wait(timeout);
  // While runs follow each other closely the timer stays on; the first tick without work turns it
  // off.
  if (ticking_ && !channel_.has_next()) {
    ticking_ = false;
    StopTicking();
  }
}

bool Worker::OnTick() {
  Worker& worker = *g_worker;
  worker.running_->TryFlushOutput();
  const std::uint64_t now = MonotonicNow();
  return worker.running_->PassedLimit(now).has_value() || worker.channel_.has_next() ||
         !worker.fresh_.empty() || !worker.spent_.empty() || !worker.ending_.empty() ||
         !worker.discarded_.empty() ||
         (!worker.timers_.empty() && worker.timers_.begin()->first <= now);
}

void Worker::HandleFrames() {
  for (int frames = 0; frames < kFramesPerTurn; ++frames) {
    if (last_was_quick_ && fresh_.size() >= kReadAhead) return;
    const auto frame = channel_.Next();
    if (!frame) return;
    const auto kind = static_cast<wire::ToWorker>(frame->kind);
    const bool more = (frame->flags & wire::kMoreFollows) != 0;
    if (!more && message_.empty()) {
      Handle(kind, frame->cell, frame->payload);
      continue;
    }
    message_.append(frame->payload);
    if (more) continue;
    Handle(kind, frame->cell, message_);
    message_.clear();
    message_.shrink_to_fit();
  }
}

void Worker::Handle(wire::ToWorker kind, std::uint64_t id, std::string_view payload) {
  switch (kind) {
    case wire::ToWorker::kStart:
      return Start(id, payload);
    case wire::ToWorker::kAgain:
      return Again(id, payload);
    case wire::ToWorker::kAnswer:
      return Answer(id, payload);
    case wire::ToWorker::kFileAnswer:
      return AnswerFile(id, payload);
    case wire::ToWorker::kSave:
      return Save(id, payload);
    case wire::ToWorker::kRestore:
      return Restore(id, payload);
    case wire::ToWorker::kCancel:
      if (WorkerCell* cell = Find(id)) {
        if (cell->state() == CellState::kIdle) {
          Discard(*cell);
        } else if (cell->state() != CellState::kEnding) {
          End(*cell, wire::Ending::kCancelled, 0);
        }
      }
      return;
  }
  Malformed();
}

void Worker::Start(std::uint64_t id, std::string_view payload) {
  const auto start = TakeHeader<wire::StartHeader>(payload);
  if (Find(id) != nullptr) Malformed();
  const std::string_view request = TakeBytes(payload, start.request_length);
  const std::string_view trace = TakeBytes(payload, start.trace_length);
  auto made = TakeClean();
  if (made == nullptr)
    return Refuse(id, Error(ErrorCode::kResourceExhausted, "no memory for a cell"));
  WorkerCell& cell = *made;
  GivenFiles given = DecodeFiles(payload);
  auto started =
      cell.Start(id, start, request, trace, std::move(given.inputs), std::move(given.mounts));
  if (!started) return Refuse(id, started.error());
  cells_.emplace(id, std::move(made));
  SetTimer(cell.deadline_ns(), cell);
  MakeReady(cell);
}

void Worker::Again(std::uint64_t id, std::string_view payload) {
  const auto start = TakeHeader<wire::StartHeader>(payload);
  WorkerCell* cell = Find(id);
  if (start.request_length > payload.size() || cell == nullptr ||
      cell->state() != CellState::kIdle) {
    Malformed();
  }
  cell->Again(start, payload.substr(0, start.request_length));
  SetTimer(cell->deadline_ns(), *cell);
  MakeReady(*cell);
}

void Worker::Answer(std::uint64_t id, std::string_view payload) {
  const auto header = TakeHeader<wire::AnswerHeader>(payload);
  WorkerCell* cell = Find(id);
  if (cell == nullptr) return;  // The cell ended while the answer was on its way.
  const bool was_parked = cell->state() == CellState::kParked;
  const std::uint64_t wake = cell->wake_ns();
  if (cell->state() != CellState::kEnding && !cell->HasRoomFor(payload.size())) {
    return End(*cell, wire::Ending::kMemory, 0);
  }
  if (!cell->Answer(header, payload)) return;
  if (was_parked && cell->state() == CellState::kReady) {
    if (wake != 0) timers_.erase({wake, cell->id()});
    MakeReady(*cell);
  }
}

void Worker::AnswerFile(std::uint64_t id, std::string_view payload) {
  const auto header = TakeHeader<wire::FileAnswerHeader>(payload);
  WorkerCell* cell = Find(id);
  if (cell != nullptr && cell->AnswerFile(header, payload)) MakeReady(*cell);
}

void Worker::Save(std::uint64_t id, std::string_view payload) {
  const auto header = TakeHeader<wire::SaveHeader>(payload);
  WorkerCell* cell = Find(id);
  if (cell != nullptr && cell->state() == CellState::kEnding) {
    FinishNow(*cell);  // The reply must not come between its frames.
    cell = Find(id);
  }
  if (cell == nullptr) return Refuse(id, Error(ErrorCode::kNotFound, "the cell is gone"));
  if (!CanSave(*cell)) {
    // The host receives a call before the cell waits for its answer, so the cell is usually about
    // to wait. A cell that asks about a file, or sleeps briefly, is busy, but not for long.
    const std::uint64_t until = MonotonicNow() + kSavePatienceNs;
    pending_saves_.insert_or_assign(id, PendingSave{header, until});
    return SetTimer(until, *cell);
  }
  SaveNow(*cell, header);
}

bool Worker::CanSave(const WorkerCell& cell) {
  return cell.state() == CellState::kIdle ||
         (cell.state() == CellState::kParked && !cell.goes_on_soon());
}

void Worker::SaveNow(WorkerCell& cell, const wire::SaveHeader& header) {
  cell.FlushOutput();
  const std::string blob = cell.Save(build_id_, header.max_bytes);
  if (blob.size() > header.max_bytes) {
    return Refuse(cell.id(),
                  Error(ErrorCode::kResourceExhausted, "the cell is too big to be saved"));
  }
  cell.SendTail();
  channel_.Send(wire::ToHost::kSaved, cell.id(), {}, blob);
  if (header.keep == 0) Discard(cell);
}

void Worker::RefuseSave(std::uint64_t id) {
  if (pending_saves_.erase(id) == 0) return;
  if (WorkerCell* cell = Find(id)) cell->FlushPosted();
  Refuse(id,
         Error(ErrorCode::kFailedPrecondition,
               "the cell computes, or sleeps for a moment; it can be saved while it waits for an "
               "answer, or sleeps for long"));
}

void Worker::Restore(std::uint64_t id, std::string_view payload) {
  const auto start = TakeHeader<wire::StartHeader>(payload);
  if (Find(id) != nullptr) Malformed();
  GivenFiles given = DecodeFiles(TakeBytes(payload, start.request_length));
  const std::string_view trace = TakeBytes(payload, start.trace_length);
  auto made = TakeClean();
  if (made == nullptr)
    return Refuse(id, Error(ErrorCode::kResourceExhausted, "no memory for a cell"));
  WorkerCell& cell = *made;
  const std::span blob(reinterpret_cast<const std::uint8_t*>(payload.data()), payload.size());
  auto restored = cell.Restore(id, start, std::move(given.mounts), trace, blob, build_id_);
  if (!restored) {
    return Refuse(id, restored.error());  // The incomplete cell is destroyed, never reused.
  }
  cells_.emplace(id, std::move(made));
  const auto& open = cell.open_calls();
  // Sent before the host learns of the cell: to the host, a cell without an open call is idle
  // unless it sleeps.
  if (cell.wake_ns() != 0) cell.TellSleep();
  channel_.Send(wire::ToHost::kRestored, id, {},
                {reinterpret_cast<const char*>(open.data()), open.size() * sizeof open[0]});
  if (cell.state() == CellState::kIdle) return;
  SetTimer(cell.deadline_ns(), cell);
  if (cell.state() == CellState::kReady) {
    MakeReady(cell);
  } else if (cell.wake_ns() != 0) {
    SetTimer(cell.wake_ns(), cell);
  }
}

void Worker::Refuse(std::uint64_t id, const Error& why) {
  channel_.Send(wire::ToHost::kRefused, id, {}, why.message());
}

void Worker::HandleTimers() {
  if (timers_.empty()) return;
  const std::uint64_t now = MonotonicNow();
  while (!timers_.empty() && timers_.begin()->first <= now) {
    WorkerCell* cell = Find(timers_.begin()->second);
    timers_.erase(timers_.begin());
    if (cell == nullptr || cell->state() == CellState::kIdle ||
        cell->state() == CellState::kEnding) {
      continue;
    }
    const auto pending = pending_saves_.find(cell->id());
    if (pending != pending_saves_.end() && pending->second.until_ns <= now) RefuseSave(cell->id());
    if (auto passed = cell->PassedLimit(now)) {
      End(*cell, *passed, 0);
    } else if (cell->state() == CellState::kParked && cell->wake_ns() != 0 &&
               cell->wake_ns() <= now) {
      cell->Wake();
      MakeReady(*cell);
    }
  }
}

WorkerCell* Worker::PickNext() {
  std::deque<WorkerCell*>* line = &fresh_;
  if (fresh_.empty() || (!spent_.empty() && fresh_in_a_row_ >= kMaxFreshInARow)) line = &spent_;
  if (line->empty()) return nullptr;
  fresh_in_a_row_ = line == &fresh_ ? fresh_in_a_row_ + 1 : 0;
  WorkerCell* cell = line->front();
  line->pop_front();
  return cell;
}

void Worker::RunSlice(WorkerCell& cell) {
  if (!ticking_) {
    ticking_ = true;
    StartTicking();
  }
  running_ = &cell;
  Left left = cell.Go();
  // The call was already answered, or the sleep has no length: continue at once.
  while (left == Left::kParked && cell.state() == CellState::kReady && !channel_.has_next() &&
         !TickMissed()) {
    left = cell.Go();
  }
  running_ = nullptr;
  Settle(cell, left);
}

void Worker::Settle(WorkerCell& cell, Left left) {
  last_was_quick_ = left != Left::kPreempted && left != Left::kYielded;
  switch (left) {
    case Left::kParked:
      if (cell.state() == CellState::kReady && TickMissed()) return spent_.push_back(&cell);
      if (cell.state() == CellState::kReady) return MakeReady(cell);
      if (cell.state() == CellState::kAsking) return;
      if (cell.wake_ns() != 0) SetTimer(cell.wake_ns(), cell);
      if (!CanSave(cell)) return;
      if (auto pending = pending_saves_.extract(cell.id())) SaveNow(cell, pending.mapped().header);
      return;
    case Left::kPreempted:
    case Left::kYielded:
      if (auto passed = cell.PassedLimit(MonotonicNow())) return End(cell, *passed, 0);
      spent_.push_back(&cell);
      return;
    case Left::kFinished:
      return End(cell, wire::Ending::kReported, 0);
    case Left::kTrapped:
      return End(cell, wire::Ending::kTrap, caisson_switch.detail);
    case Left::kExited:
      return End(cell, wire::Ending::kExit, caisson_switch.detail);
    case Left::kStopped:
      return End(cell, static_cast<wire::Ending>(caisson_switch.detail), 0);
  }
}

void Worker::End(WorkerCell& cell, wire::Ending ending, std::uint32_t detail) {
  Unschedule(cell);
  RefuseSave(cell.id());
  cell.BeginFinish(ending, detail);
  if (!cell.FinishSlice()) return ending_.push_back(&cell);
  if (cell.state() != CellState::kIdle) Discard(cell);
}

void Worker::FinishNow(WorkerCell& cell) {
  while (!cell.FinishSlice()) continue;
  std::erase(ending_, &cell);
  if (cell.state() != CellState::kIdle) Discard(cell);
}

// Does a slice of the work left for cells whose runs have ended.
void Worker::CleanUpSlice() {
  if (!ending_.empty()) {
    WorkerCell* cell = ending_.front();
    ending_.pop_front();
    if (!cell->FinishSlice()) {
      ending_.push_back(cell);
    } else if (cell->state() != CellState::kIdle) {
      Discard(*cell);
    }
  }
  if (!discarded_.empty() && discarded_.front()->memory().Shrink(kShrinkBytes)) {
    auto cell = std::move(discarded_.front());
    discarded_.pop_front();
    Keep(std::move(cell));
  }
}

void Worker::Discard(WorkerCell& cell) {
  Unschedule(cell);
  std::unique_ptr<WorkerCell> owned = std::move(cells_.extract(cell.id()).mapped());
  if (!cell.memory().Shrink(kShrinkBytes)) return discarded_.push_back(std::move(owned));
  // Done at once, and last in, first out: the pages that are copied back are in the cache, where
  // the next run needs them. Deferring it until there is no work costs more than it saves.
  Keep(std::move(owned));
}

void Worker::Keep(std::unique_ptr<WorkerCell> cell) {
  if (clean_.size() >= kMaxSpareCells) return;  // Destroyed.
  cell->Reset();
  if (options_.verify_reset && !cell->memory().IsPristine()) std::abort();
  clean_.push_back(std::move(cell));
}

void Worker::MakeReady(WorkerCell& cell) {
  fresh_.push_back(&cell);
}

void Worker::SetTimer(std::uint64_t at_ns, const WorkerCell& cell) {
  timers_.emplace(at_ns, cell.id());
}

void Worker::Unschedule(const WorkerCell& cell) {
  timers_.erase({cell.deadline_ns(), cell.id()});
  if (cell.wake_ns() != 0) timers_.erase({cell.wake_ns(), cell.id()});
  std::erase(fresh_, &cell);
  std::erase(spent_, &cell);
}

WorkerCell* Worker::Find(std::uint64_t id) {
  const auto it = cells_.find(id);
  return it == cells_.end() ? nullptr : it->second.get();
}

std::unique_ptr<WorkerCell> Worker::TakeClean() {
  if (clean_.empty()) {
    auto cell = MakeCell();
    return cell ? std::move(*cell) : nullptr;
  }
  auto cell = std::move(clean_.back());
  clean_.pop_back();
  return cell;
}

Result<std::unique_ptr<WorkerCell>> Worker::MakeCell() {
  TRY_ASSIGN(LinearMemory memory, LinearMemory::Map(base_, dirty_));
  return std::make_unique<WorkerCell>(std::move(memory), library_, channel_);
}

}  // namespace caisson::worker
