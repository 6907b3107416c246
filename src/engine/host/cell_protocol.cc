#include "engine/host/cell_protocol.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/host/cell_request.h"

namespace caisson {
namespace {

using wire::ToWorker;

Error Refused(const char* why) {
  return Error(ErrorCode::kFailedPrecondition, why);
}

template <typename T>
std::string_view AsBytes(const T& pod) {
  return {reinterpret_cast<const char*>(&pod), sizeof pod};
}

// Encodes the tuple (seq, outcome, value) of guest/abi.h piece by piece, because the value can be
// large and must not be copied.
Result<void> EncodeAnswer(std::uint32_t seq, const ToolAnswer& answer, std::string& body) {
  Tuple head{{Value(std::int64_t{seq}), Value(static_cast<std::int64_t>(answer.index())), Value()}};
  TRY(EncodeValue(Value(std::move(head)), body));
  body.pop_back();  // Removes the None that stands for the value.
  if (const auto* value = std::get_if<Value>(&answer)) return EncodeValue(*value, body, 1);
  if (const auto* raised = std::get_if<ToolRaised>(&answer)) {
    return EncodeValue(Tuple{{Value(raised->type), Value(raised->message)}}, body, 1);
  }
  return EncodeValue(Value(std::get<ToolDenied>(answer).message), body, 1);
}

// Returns the length of the appended trace.
std::uint64_t AppendTrace(std::span<const TracePart> parts, std::string& out) {
  const std::size_t before = out.size();
  for (const TracePart& part : parts) {
    out.append(AsBytes(part.seq));
    out.append(AsBytes(static_cast<std::uint32_t>(part.bytes.size())));
    out.append(part.bytes);
  }
  return out.size() - before;
}

std::uint64_t UnixNanoseconds(HostTime time) {
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(time.time_since_epoch()).count());
}

}  // namespace

CellProtocol::CellProtocol(OwnerId owner, Admission::Place place, std::chrono::nanoseconds queued)
    : owner_(std::move(owner)), place_(std::move(place)), queued_(queued) {}

CellProtocol::~CellProtocol() = default;

Result<void> CellProtocol::Start(CellLink& link, std::uint64_t id, RunRequest request,
                                 RunEvents& events, AfterRun after, RunDone&& done) {
  if (state_ != State::kEmpty) return Refused("the cell is not empty");
  link_ = &link;
  id_ = id;
  auto sent = SendStart(ToWorker::kStart, request, after);
  if (!sent) {
    link_ = nullptr;
    return sent;
  }
  link.Attach(shared_from_this());
  ClearOutcome();
  BeginRun(events, after, std::move(done));
  return {};
}

Result<void> CellProtocol::Again(RunRequest request, RunEvents& events, AfterRun after,
                                 RunDone&& done) {
  if (state_ == State::kLost) {
    return Error(ErrorCode::kUnavailable, "the cell was lost with its worker");
  }
  if (state_ != State::kIdle || save_pending_) return Refused("the cell is not idle");
  if (!request.files.empty()) return Refused("files are given with a session's first run only");
  TRY(SendStart(ToWorker::kAgain, request, after));
  ClearOutcome();
  BeginRun(events, after, std::move(done));
  return {};
}

Result<void> CellProtocol::SendStart(ToWorker kind, RunRequest& request, AfterRun after) {
  Limits limits = request.limits;
  limits.wall_time += request.spare_wall_time;
  wire::StartHeader header = MakeStartHeader(limits);
  if (after == AfterRun::kKeep) header.flags |= wire::kKeepCell;
  if (request.recording) {
    if (request.recording->seed.size() != sizeof header.seed) {
      return Error(ErrorCode::kInvalidArgument, "the seed must have 32 bytes");
    }
    header.flags |= wire::kRecorded;
    std::memcpy(header.seed, request.recording->seed.data(), sizeof header.seed);
  }
  std::string body;
  body.reserve(request.code.size() + 64);
  AppendRequest(request, after, body);
  header.request_length = static_cast<std::uint32_t>(body.size());
  if (request.recording) header.trace_length = AppendTrace(request.recording->replay, body);
  AppendFiles(request.files, mounts(), body);
  TRY(link_->Send(kind, id_, AsBytes(header), body));
  limits_ = limits;
  may_keep_ = after == AfterRun::kKeep;
  recorded_ = request.recording.has_value();
  unheard_ = kind == ToWorker::kStart;
  next_seq_ = 0;
  any_seq_ = false;
  CloseCalls();
  return {};
}

void CellProtocol::ClearOutcome() {
  outcome_ = {};
  sleeps_until_.reset();
  file_bytes_ = files_with_contents_ = kept_argument_bytes_ = 0;
  kept_arguments_.clear();
  changes_.clear();
  layer_ = {};
  open_file_request_ = 0;
  distrusted_.reset();
}

void CellProtocol::BeginRun(RunEvents& events, AfterRun after, RunDone&& done) {
  state_ = State::kRunning;
  events_ = &events;
  after_ = after;
  run_done_ = std::move(done);
  SetDeadline();
}

Result<void> CellProtocol::Restore(CellLink& link, std::uint64_t id, const SavedCell& saved,
                                   const Limits& limits, RestoreDone&& done) {
  if (state_ != State::kEmpty) return Refused("the cell is not empty");
  wire::StartHeader header = MakeStartHeader(limits);
  // Whether to keep the cell is known only when Continue is called; see OnDone.
  header.flags = wire::kKeepCell;
  std::string files;
  AppendFiles({}, mounts(), files);
  header.request_length = static_cast<std::uint32_t>(files.size());
  header.trace_length = AppendTrace(saved.replay, files);
  TRY(link.Send(ToWorker::kRestore, id, std::string(AsBytes(header)) + files, saved.bytes));
  link_ = &link;
  id_ = id;
  limits_ = limits;
  may_keep_ = true;
  recorded_ = true;  // The worker knows whether it is.
  state_ = State::kRestoring;
  ClearOutcome();
  restore_done_ = std::move(done);
  link.Attach(shared_from_this());
  SetDeadline();
  return {};
}

Result<void> CellProtocol::Continue(RunEvents& events, AfterRun after, RunDone&& done) {
  if (state_ != State::kParked || save_pending_) return Refused("no run is waiting in this cell");
  BeginRun(events, after, std::move(done));
  if (!outcome_.stdout_text.empty()) events.OnOutput(OutputStream::kStdout, outcome_.stdout_text);
  if (!outcome_.stderr_text.empty()) events.OnOutput(OutputStream::kStderr, outcome_.stderr_text);
  for (auto& [seq, trace, encoded] : std::exchange(early_calls_, {})) {
    if (state_ == State::kRunning && events_ != nullptr) Deliver(seq, std::move(trace), encoded);
  }
  if (sleeps_until_ && events_ != nullptr) events_->OnSleep(sleeps_until_);
  for (auto& [seq, answer, now] : std::exchange(early_answers_, {})) {
    if (state_ != State::kRunning) break;
    if (auto sent = SendAnswer(seq, answer, now); !sent) Distrust(sent.error().message());
  }
  SetDeadline();
  return {};
}

Result<void> CellProtocol::Answer(std::uint32_t seq, ToolAnswer answer, HostTime now) {
  const auto call = std::ranges::find(open_calls_, seq, &OpenCall::seq);
  if (call == open_calls_.end()) return Refused("no call with this number is open");
  if (state_ == State::kParked) {
    early_answers_.emplace_back(seq, std::move(answer), now);
    CloseCall(call);
    return {};
  }
  if (state_ != State::kRunning) return Refused("the run has ended");
  if (save_pending_ && after_save_ == AfterSave::kDiscard) {
    return Refused("the cell is being saved; answer it when it is restored");
  }
  TRY(SendAnswer(seq, answer, now));
  if (call->index != kNoIndex) {
    static constexpr const char* kOutcomes[] = {"returned", "raised", "denied"};
    outcome_.calls[call->index].outcome = kOutcomes[answer.index()];
    outcome_.calls[call->index].duration = std::chrono::steady_clock::now() - call->since;
  }
  CloseCall(call);
  SetDeadline();
  return {};
}

void CellProtocol::CloseCall(std::vector<OpenCall>::iterator call) {
  open_call_bytes_ -= call->packed_bytes;
  open_calls_.erase(call);
}

void CellProtocol::CloseCalls() {
  open_calls_.clear();
  open_call_bytes_ = 0;
}

Result<void> CellProtocol::SendAnswer(std::uint32_t seq, const ToolAnswer& answer, HostTime now) {
  std::string body;
  TRY(EncodeAnswer(seq, answer, body));
  if (body.size() > limits_.message_bytes) {
    return Error(ErrorCode::kResourceExhausted,
                 "the answer has " + std::to_string(body.size()) + " bytes; at most " +
                     std::to_string(limits_.message_bytes) + " are allowed");
  }
  const wire::AnswerHeader header{.seq = seq, .reserved = 0, .clock_ns = UnixNanoseconds(now)};
  auto sent = link_->Send(ToWorker::kAnswer, id_, AsBytes(header), body);
  // Not even the news that an answer did not fit has room.
  if (!sent && sent.error().code() == ErrorCode::kResourceExhausted &&
      body.size() + sizeof header <= kShortAnswerBytes) {
    Distrust("it does not read the answers to its calls");
    return Refused("the run has ended");
  }
  return sent;
}

Result<void> CellProtocol::Save(AfterSave after, std::uint64_t max_bytes, SaveDone&& done) {
  const bool parked = state_ == State::kRunning && (!open_calls_.empty() || sleeps_until_);
  if (save_pending_) return Refused("the cell is being saved already");
  if (!parked && state_ != State::kIdle && state_ != State::kParked) {
    return Refused("only a cell that is idle, waits in a call or sleeps for long can be saved");
  }
  const wire::SaveHeader header{
      .keep = after == AfterSave::kKeep ? 1u : 0u, .reserved = 0, .max_bytes = max_bytes};
  max_saved_bytes_ = max_bytes;
  TRY(link_->Send(ToWorker::kSave, id_, AsBytes(header), {}));
  save_pending_ = true;
  after_save_ = after;
  save_done_ = std::move(done);
  SetDeadline();
  return {};
}

void CellProtocol::Cancel() {
  start_cancelled_ = starting_;
  const bool parked = state_ == State::kParked && (abandoned_ || distrusted_);
  if (state_ != State::kRunning && !parked) return;
  state_ = State::kEnding;
  // If the message cannot be queued, the deadline ends the worker.
  (void)link_->Send(ToWorker::kCancel, id_, {}, {}).has_value();
  SetDeadline();
}

void CellProtocol::Abandon() {
  abandoned_ = doomed_ = true;
  prepared_ = nullptr;
  events_ = nullptr;
  run_done_ = nullptr;
  save_done_ = nullptr;
  restore_done_ = nullptr;
  switch (state_) {
    case State::kRunning:
    case State::kParked:
      return Cancel();
    case State::kIdle:
      if (!save_pending_) EndCell();  // Otherwise the cell ends when the reply to the save arrives.
      return;
    default:
      return;  // There is no cell, or its last message is on the way.
  }
}

}  // namespace caisson
