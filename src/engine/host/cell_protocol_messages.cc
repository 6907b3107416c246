// Handles the messages of a cell and the end of its runs.
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/utf8.h"
#include "engine/host/cell_protocol.h"
#include "engine/host/cell_report.h"

namespace caisson {
namespace {

using wire::ToHost;
using wire::ToWorker;

// The worker enforces the time limits. This is a second check in case it does not. While a run has
// to end (it has no open call, or was cancelled), its end must arrive within the wall limit plus
// this grace time, counted from the last message that was sent to the cell.
constexpr std::chrono::seconds kGrace{1};
constexpr std::chrono::seconds kSaveTime{10};
// Limits on the arguments kept for the outcome, for all calls of a run together: packed, and
// decoded.
constexpr std::uint64_t kMaxKeptArgumentBytes = 1u << 20;
constexpr std::size_t kMaxShownArgumentBytes = 4u << 20;
// Limits on the open calls of a run: their number, and the total size of their packed arguments.
constexpr std::size_t kMaxOpenCalls = 1024;
constexpr std::size_t kMaxOpenCallBytes = 16u << 20;
constexpr std::size_t kMaxToolNameBytes = 256;
// Limits the calls that a restored run makes before Continue is called.
constexpr std::size_t kMaxEarlyCallBytes = 16u << 20;
constexpr std::size_t kMaxPathBytes = 4096;
constexpr std::size_t kMaxTextBytes = 64u << 10;
// Output, and messages in several frames, grow in steps up to this size.
constexpr std::size_t kGrowInStepsBytes = 64u << 10;

Error Violation(const std::string& what) {
  return Error(ErrorCode::kInternal, "the cell broke the protocol: " + what);
}

SteadyTime Now() {
  return std::chrono::steady_clock::now();
}

// Converts a time sent by a worker. 0: nullopt.
std::optional<HostTime> ToTime(std::uint64_t unix_ns) {
  if (unix_ns == 0) return std::nullopt;
  const auto most = static_cast<std::uint64_t>(std::chrono::nanoseconds::max().count());
  const std::chrono::nanoseconds since(static_cast<std::int64_t>(std::min(unix_ns, most)));
  return HostTime(std::chrono::duration_cast<HostTime::duration>(since));
}

// Splits a message into its fixed header and the rest.
template <typename T>
std::optional<std::pair<T, std::string_view>> Split(std::string_view message) {
  if (message.size() < sizeof(T)) return std::nullopt;
  T header;
  std::memcpy(&header, message.data(), sizeof header);
  return std::pair(header, message.substr(sizeof header));
}

// Truncates the name of a tool. No existing tool has a name longer than 64 bytes, so nothing is
// lost.
std::string Shortened(std::string_view name) {
  std::size_t end = 0;
  while (end < name.size()) {
    const std::size_t size = std::max<std::size_t>(CharacterSize(name.substr(end)), 1);
    if (end + size > kMaxToolNameBytes) break;
    end += size;
  }
  return std::string(name.substr(0, end));
}

}  // namespace

std::string Explain(wire::Omitted omitted) {
  switch (omitted) {
    case wire::Omitted::kNot:
      break;
    case wire::Omitted::kFileBytes:
      return "larger than one file may be (file_bytes)";
    case wire::Omitted::kTotalFileBytes:
      return "all files together are larger than allowed (total_file_bytes)";
    case wire::Omitted::kFiles:
      return "more files than allowed (files)";
  }
  return {};
}

std::optional<std::size_t> CellProtocol::Allowed(ToHost kind) const {
  const bool running =
      state_ == State::kRunning || state_ == State::kEnding || state_ == State::kParked;
  switch (kind) {
    case ToHost::kOutput:
      if (running) return 1 + std::max(limits_.stdout_bytes, limits_.stderr_bytes);
      break;
    case ToHost::kCall:
      if (running) {
        return sizeof(wire::CallHeader) + wire::kMaxTracePartBytes + limits_.message_bytes;
      }
      break;
    case ToHost::kDone:
      if (running) return sizeof(wire::DoneHeader) + limits_.result_bytes + wire::kReportSlackBytes;
      break;
    case ToHost::kFile:
      if (running) return sizeof(wire::FileHeader) + kMaxPathBytes + limits_.file_bytes;
      break;
    case ToHost::kFileList:
    case ToHost::kFileRead:
      if (running && host_files_) return sizeof(wire::FileReadHeader) + kMaxPathBytes;
      break;
    case ToHost::kChange:
      if (running && host_files_) {
        return sizeof(wire::ChangeHeader) + kMaxPathBytes + limits_.file_bytes;
      }
      break;
    case ToHost::kSaved:
      if (save_pending_) return max_saved_bytes_;
      break;
    case ToHost::kRestored:
      if (state_ == State::kRestoring) return limits_.tool_calls * sizeof(std::uint32_t);
      break;
    case ToHost::kRefused:
      if (save_pending_ || unheard_ || state_ == State::kRestoring) return kMaxTextBytes;
      break;
    case ToHost::kTail:
      if (save_pending_ && recorded_) return sizeof(wire::TailHeader) + wire::kMaxTracePartBytes;
      break;
    case ToHost::kSleep:
      if ((running || state_ == State::kRestoring) && recorded_) return sizeof(wire::SleepHeader);
      break;
    case ToHost::kReady:
      break;
  }
  return std::nullopt;
}

Result<void> CellProtocol::OnFrame(ToHost kind, std::uint16_t flags, std::string_view payload) {
  const auto number = [kind] { return std::to_string(std::to_underlying(kind)); };
  const auto allowed = Allowed(kind);
  if (!allowed) return Violation("frame kind " + number() + " out of place");
  if (partial_kind_ && *partial_kind_ != kind) return Violation("two messages are mixed");
  if (partial_.size() + payload.size() > *allowed) {
    return Violation("a message of kind " + number() + " is too long");
  }
  const std::size_t size = partial_.size() + payload.size();
  if (size > partial_.capacity() && size > kGrowInStepsBytes) partial_.reserve(*allowed);
  if ((flags & wire::kMoreFollows) != 0) {
    partial_kind_ = kind;
    partial_.append(payload);
    return {};
  }
  if (!partial_kind_) return OnMessage(kind, payload);
  partial_.append(payload);
  partial_kind_.reset();
  std::string message = std::exchange(partial_, {});
  // Long ones are moved, not copied.
  if (kind == ToHost::kFile) {
    unheard_ = false;
    return OnFile(std::move(message));
  }
  if (kind != ToHost::kSaved) return OnMessage(kind, message);
  OnSaved(std::move(message));
  return {};
}

Result<void> CellProtocol::OnMessage(ToHost kind, std::string_view message) {
  if (kind != ToHost::kRefused) unheard_ = false;
  switch (kind) {
    case ToHost::kOutput:
      return OnOutput(message);
    case ToHost::kCall:
      return OnCall(message);
    case ToHost::kDone:
      return OnDone(message);
    case ToHost::kFile:
      return OnFile(std::string(message));
    case ToHost::kFileList:
      return OnFileList(message);
    case ToHost::kFileRead:
      return OnFileRead(message);
    case ToHost::kChange:
      return OnChange(message);
    case ToHost::kSaved:
      OnSaved(std::string(message));
      return {};
    case ToHost::kRestored:
      return OnRestored(message);
    case ToHost::kTail:
      return OnTail(message);
    case ToHost::kSleep:
      return OnSleep(message);
    case ToHost::kRefused:
      OnRefused(message);
      return {};
    case ToHost::kReady:
      break;
  }
  return Violation("a frame out of place");
}

Result<void> CellProtocol::OnOutput(std::string_view message) {
  if (message.empty() || (message[0] != 1 && message[0] != 2)) return Violation("bad output");
  const bool to_stdout = message[0] == 1;
  message.remove_prefix(1);
  std::string& text = to_stdout ? outcome_.stdout_text : outcome_.stderr_text;
  const std::uint64_t most = to_stdout ? limits_.stdout_bytes : limits_.stderr_bytes;
  if (message.size() > most - text.size()) return Violation("output beyond its cap");
  const std::size_t size = text.size() + message.size();
  // Growing in steps would copy megabytes on the lane. A reservation is address space only.
  if (size > text.capacity() && size > kGrowInStepsBytes) text.reserve(most);
  text.append(message);
  if (events_ != nullptr) {
    events_->OnOutput(to_stdout ? OutputStream::kStdout : OutputStream::kStderr, message);
  }
  return {};
}

Result<void> CellProtocol::OnCall(std::string_view message) {
  const auto parts = Split<wire::CallHeader>(message);
  if (!parts) return Violation("a short call");
  const auto& [seq, trace_length] = parts->first;
  std::string_view encoded = parts->second;
  const std::uint32_t most = recorded_ ? wire::kMaxTracePartBytes : 0;
  if (trace_length > encoded.size() || trace_length > most) {
    return Violation("a bad call header");
  }
  std::string trace(encoded.substr(0, trace_length));
  encoded.remove_prefix(trace_length);
  if (encoded.size() > limits_.message_bytes) return Violation("a call beyond its cap");
  const bool new_seq = any_seq_ ? seq >= next_seq_ : seq == next_seq_;
  if (!new_seq) return Violation("a wrong call number");
  if (seq >= limits_.tool_calls) return Violation("more calls than allowed");
  any_seq_ = false;
  next_seq_ = seq + 1;
  if (state_ == State::kRunning && events_ != nullptr) {
    Deliver(seq, std::move(trace), encoded);
  } else if (state_ == State::kParked) {
    early_call_bytes_ += trace.size() + encoded.size();
    if (early_call_bytes_ > kMaxEarlyCallBytes) {
      Distrust("too many calls before it was continued");
    } else {
      early_calls_.emplace_back(seq, std::move(trace), std::string(encoded));
    }
  }
  return {};
}

void CellProtocol::Deliver(std::uint32_t seq, std::string trace, std::string_view packed) {
  const auto name = DecodeFirstItem(packed);
  const auto* tool = name ? name->If<std::string>() : nullptr;
  if (tool == nullptr) return Distrust("a tool call is not [name, list, dict]");
  const std::string shown = Shortened(*tool);
  const std::size_t index = outcome_.calls.size();
  outcome_.calls.push_back({.seq = seq, .tool = shown, .outcome = "pending"});
  if (packed.size() <= kMaxKeptArgumentBytes - kept_argument_bytes_) {
    kept_argument_bytes_ += packed.size();
    kept_arguments_.emplace_back(index, packed);
  } else {
    kept_argument_bytes_ = kMaxKeptArgumentBytes;
  }
  auto refused = CheckOpenCalls(packed.size());
  open_calls_.push_back(
      {.seq = seq, .index = index, .packed_bytes = packed.size(), .since = Now()});
  open_call_bytes_ += packed.size();
  SetDeadline();
  if (refused) {
    events_->OnCall(
        {.seq = seq, .tool = shown, .packed = std::string(packed), .trace = std::move(trace)});
  } else if (!Answer(seq, ToolRaised{.type = "LimitError", .message = refused.error().message()},
                     std::chrono::system_clock::now())) {
    Distrust(refused.error().message());
  }
}

Result<void> CellProtocol::CheckOpenCalls(std::size_t packed_bytes) const {
  const auto too_much = [](std::string what) {
    return Error(ErrorCode::kResourceExhausted,
                 std::move(what) + "; wait for some of them before you call again");
  };
  if (open_calls_.size() >= kMaxOpenCalls) {
    return too_much("a run can have " + std::to_string(kMaxOpenCalls) + " calls open at once");
  }
  if (packed_bytes > kMaxOpenCallBytes - std::min(open_call_bytes_, kMaxOpenCallBytes)) {
    return too_much("the arguments of a run's open calls can have " +
                    std::to_string(kMaxOpenCallBytes) + " bytes together");
  }
  return {};
}

// Fills in the arguments of the calls; if there are very many, only of the first ones.
void CellProtocol::ShowArguments() {
  DecodeBudget budget(kMaxShownArgumentBytes);
  for (auto& [index, packed] : std::exchange(kept_arguments_, {})) {
    ToolCall call{.packed = std::move(packed)};
    if (!Unpack(call, budget)) continue;
    outcome_.calls[index].has_positional = !call.positional.items.empty();
    outcome_.calls[index].arguments =
        WithPositional(std::move(call.keywords), std::move(call.positional));
  }
}

Result<void> CellProtocol::OnFile(std::string message) {
  const auto parts = Split<wire::FileHeader>(message);
  if (!parts) return Violation("a short file");
  const auto& [header, rest] = *parts;
  if (header.path_length > rest.size() || header.path_length > kMaxPathBytes) {
    return Violation("a bad file header");
  }
  std::string path(rest.substr(0, header.path_length));
  message.erase(0, message.size() - rest.size() + path.size());
  return KeepFile(header, std::move(path), std::move(message));
}

Result<void> CellProtocol::KeepFile(const wire::FileHeader& header, std::string path,
                                    std::string contents) {
  static constexpr const char* kChanges[] = {"created", "modified", "deleted"};
  if (header.change > 2 || header.omitted > wire::Omitted::kFiles) {
    return Violation("a bad file header");
  }
  const bool whole = header.omitted == wire::Omitted::kNot && header.change != 2;
  if (contents.size() != (whole ? header.size : 0)) return Violation("a file of another size");
  file_bytes_ += contents.size();
  files_with_contents_ += whole ? 1 : 0;
  // Files beyond the limit are still listed, without contents, up to a second limit.
  if (contents.size() > limits_.file_bytes || file_bytes_ > limits_.total_file_bytes ||
      files_with_contents_ > limits_.files || outcome_.files.size() >= 4 * limits_.files + 1024) {
    return Violation("files beyond their caps");
  }
  AddFile({.path = std::move(path),
           .change = kChanges[header.change],
           .size = header.size,
           .contents = std::move(contents),
           .omitted = Explain(header.omitted)});
  return {};
}

void CellProtocol::AddFile(OutcomeFile file) {
  outcome_.files.push_back(std::move(file));
}

Result<void> CellProtocol::OnDone(std::string_view message) {
  const auto parts = Split<wire::DoneHeader>(message);
  if (!parts || parts->first.ending > wire::kLastEnding) return Violation("a bad end");
  const bool kept = (parts->first.flags & wire::kCellKept) != 0;
  if (kept && !may_keep_) return Violation("a cell kept unasked");

  if (auto applied = ApplyReport(parts->first, parts->second, outcome_); !applied && !distrusted_) {
    distrusted_ = applied.error().message();
  }
  if ((parts->first.flags & wire::kChangesMissing) != 0 && !mounts().empty()) {
    changes_.push_back(
        {.omitted = "more was changed below the mounts than may be captured (files)"});
  }
  const bool wanted = !distrusted_ && (state_ == State::kParked ||
                                       (state_ == State::kRunning && after_ == AfterRun::kKeep));
  if (save_pending_ && !kept) {
    link_->ExpectStraySaveAnswer(id_);
    FinishSave(Error(ErrorCode::kFailedPrecondition, "the run ended before it could be saved"));
  }
  if (!kept) FailRestore(Error(ErrorCode::kInternal, "the cell ended while it was restored"));
  FinishRun();
  if (kept && (wanted || save_pending_)) {
    doomed_ = doomed_ || state_ == State::kEnding;  // The worker reads the kCancel after the kSave.
    state_ = State::kIdle;
    SetDeadline();
  } else if (kept && state_ == State::kRunning) {
    EndCell();
  } else {
    Detach();  // The worker has freed it, or frees it when it reads the kCancel.
  }
  return {};
}

Result<void> CellProtocol::OnRestored(std::string_view message) {
  if (message.size() % sizeof(std::uint32_t) != 0) return Violation("bad call numbers");
  CloseCalls();
  next_seq_ = 0;
  any_seq_ = true;
  for (; !message.empty(); message.remove_prefix(sizeof(std::uint32_t))) {
    std::uint32_t seq = 0;
    std::memcpy(&seq, message.data(), sizeof seq);
    if (seq >= limits_.tool_calls || (!open_calls_.empty() && seq < next_seq_)) {
      return Violation("bad call numbers");
    }
    open_calls_.push_back({.seq = seq, .index = kNoIndex, .packed_bytes = 0, .since = Now()});
    next_seq_ = seq + 1;
  }
  state_ = open_calls_.empty() && !sleeps_until_ ? State::kIdle : State::kParked;
  SetDeadline();
  if (abandoned_) {
    Abandon();
    return {};
  }
  link_->Defer([done = std::move(restore_done_)]() mutable { done({}); });
  restore_done_ = nullptr;
  return {};
}

Result<void> CellProtocol::OnSleep(std::string_view message) {
  const auto parts = Split<wire::SleepHeader>(message);
  if (!parts) return Violation("a short sleep");
  sleeps_until_ = ToTime(parts->first.wake_ns);
  if (state_ == State::kRunning && events_ != nullptr) events_->OnSleep(sleeps_until_);
  return {};
}

Result<void> CellProtocol::OnTail(std::string_view message) {
  const auto parts = Split<wire::TailHeader>(message);
  if (!parts) return Violation("a short trace");
  tail_ = {ToTime(parts->first.wake_ns), std::string(parts->second)};
  return {};
}

void CellProtocol::OnSaved(std::string message) {
  save_pending_ = false;
  auto [wake_at, tail] = std::exchange(tail_, {});
  SavedCell saved{.bytes = std::move(message),
                  .origin = link_->origin(),
                  .wake_at = wake_at,
                  .tail = std::move(tail)};
  if (saved.origin) saved.origin->owner = owner_;
  FinishSave(std::move(saved));
  if (after_save_ == AfterSave::kKeep) {
    if (doomed_ && state_ == State::kIdle) return EndCell();
    return SetDeadline();
  }
  if (state_ == State::kRunning) {
    outcome_.status = RunStatus::kWaiting;
    outcome_.reason = RunReason::kApproval;
  } else {
    outcome_.status = RunStatus::kCancelled;
    outcome_.reason = RunReason::kKilled;
  }
  FinishRun();
  Detach();
}

void CellProtocol::OnRefused(std::string_view message) {
  if (unheard_ && !save_pending_) {
    if (run_done_) {
      link_->Defer([done = std::move(run_done_), why = std::string(message)]() mutable {
        done(Error(ErrorCode::kResourceExhausted, "the worker refused the run: " + why));
      });
    }
    run_done_ = nullptr;
    return Detach();
  }
  Error why(ErrorCode::kFailedPrecondition, std::string(message));
  if (state_ != State::kRestoring) {
    save_pending_ = false;
    FinishSave(std::move(why));
    if (doomed_ && state_ == State::kIdle) return EndCell();
    return SetDeadline();
  }
  FailRestore(std::move(why));
  Detach();
}

void CellProtocol::FailRestore(Error why) {
  if (!restore_done_) return;
  link_->Defer(
      [done = std::move(restore_done_), why = std::move(why)]() mutable { done(std::move(why)); });
  restore_done_ = nullptr;
}

void CellProtocol::Distrust(std::string why) {
  distrusted_ = std::move(why);
  Cancel();
}

// Frees a cell that has no run. The worker sends nothing more about it.
void CellProtocol::EndCell() {
  (void)link_->Send(ToWorker::kCancel, id_, {}, {}).has_value();
  Detach();
}

void CellProtocol::FinishRun() {
  CloseCalls();
  open_file_request_ = 0;
  events_ = nullptr;
  if (abandoned_ || (!run_done_ && state_ != State::kParked)) return;
  if (distrusted_) {
    outcome_.status = RunStatus::kFailed;
    outcome_.reason = RunReason::kCrashed;
    outcome_.error = RunError{.type = "ProtocolError", .message = *distrusted_};
  }
  ShowArguments();
  outcome_.run_id = NewRunId();
  outcome_.usage.queue = queued_;
  outcome_.boundary = link_->boundary();
  if (!run_done_) {
    early_end_ = std::exchange(outcome_, {});
    return;
  }
  if (!changes_.empty() || !layer_.entries.empty()) {
    Settle(std::move(outcome_), std::move(run_done_));
  } else {
    link_->Defer([done = std::move(run_done_), outcome = std::move(outcome_)]() mutable {
      done(std::move(outcome));
    });
  }
  run_done_ = nullptr;
  outcome_ = {};
}

void CellProtocol::FinishSave(Result<SavedCell> saved) {
  save_pending_ = false;
  if (!save_done_) return;
  link_->Defer([done = std::move(save_done_), saved = std::move(saved)]() mutable {
    done(std::move(saved));
  });
  save_done_ = nullptr;
}

void CellProtocol::Detach() {
  state_ = State::kEmpty;
  doomed_ = abandoned_;
  deadline_ = SteadyTime::max();
  save_pending_ = false;
  CloseCalls();
  sleeps_until_.reset();
  tail_ = {};
  open_file_request_ = 0;
  early_answers_.clear();
  early_calls_.clear();
  early_call_bytes_ = 0;
  unheard_ = false;
  events_ = nullptr;
  partial_.clear();
  partial_kind_.reset();
  std::exchange(link_, nullptr)->Detach(*this);
  SetUnsent(0);
}

void CellProtocol::OnDied(const wire::DoneHeader& measured, Verdict verdict) {
  ApplyMeasured(measured, outcome_);
  outcome_.status = verdict.status;
  outcome_.reason = verdict.reason;
  outcome_.error = std::move(verdict.error);
  const std::string why = outcome_.error ? ": " + outcome_.error->message : "";
  FailRestore(Error(ErrorCode::kInternal, "the cell died while it was restored" + why));
  if (save_pending_) {
    FinishSave(Error(ErrorCode::kUnavailable, "the cell died while it was saved" + why));
  }
  FinishRun();
  Detach();
}

void CellProtocol::OnLost(RunReason reason, const std::string& why) {
  const std::string lost = "the worker was lost: " + why;
  // kInternal, not kUnavailable: another worker may be ready at once, and the same cell would crash
  // it too.
  FailRestore(Error(ErrorCode::kInternal, lost + ", while it restored a cell"));
  FinishSave(Error(ErrorCode::kUnavailable, lost));
  if (reason == RunReason::kKilled || (state_ == State::kEnding && !distrusted_)) {
    outcome_.status = RunStatus::kCancelled;
    outcome_.reason = RunReason::kKilled;
  } else {
    outcome_.status = RunStatus::kFailed;
    outcome_.reason = reason;
    outcome_.error = RunError{.type = std::string(kWorkerLost), .message = why};
  }
  FinishRun();
  state_ = State::kLost;
  deadline_ = SteadyTime::max();
  CloseCalls();
  link_ = nullptr;
  SetUnsent(0);
}

void CellProtocol::SetDeadline() {
  deadline_ = SteadyTime::max();
  if (save_pending_ || state_ == State::kRestoring) {
    deadline_ = Now() + kSaveTime;
  } else if (state_ == State::kEnding) {
    deadline_ = Now() + kGrace;
  } else if (state_ == State::kRunning && open_calls_.empty()) {
    deadline_ = Now() + limits_.wall_time + kGrace;
  }
}

}  // namespace caisson
