#include "engine/wasm/worker/worker_cell.h"

#include <sys/random.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "engine/wasm/worker/saved_cell.h"

namespace caisson::worker {
namespace {

constexpr std::size_t kOutputFlushBytes = 16 << 10;
// Space for scratch files beyond the files that are captured.
// Answers that the guest has not read may take this much even if its memory is used up.
constexpr std::uint64_t kMinUnreadBytes = 16 << 20;
constexpr std::uint64_t kScratchFileBytes = 32 << 20;
constexpr std::uint64_t kScratchTotalBytes = 64 << 20;
constexpr std::uint32_t kScratchInodes = 4096;
alignas(64) constexpr std::uint8_t kZeroPage[kPageBytes] = {};

std::uint64_t ReadSystemClock(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

template <typename T>
std::string_view AsBytes(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

std::uint64_t g_cpu_read_ns = 0;  // ThreadCpuNow() when it was last read.

}  // namespace

FileLimits FileLimitsOf(const wire::StartHeader& start) {
  FileLimits limits;
  limits.file_bytes = std::min(start.memory_bytes, std::max(kScratchFileBytes, start.file_bytes));
  limits.total_bytes =
      std::min(start.memory_bytes, std::max(kScratchTotalBytes, start.total_file_bytes));
  limits.inodes = std::max(kScratchInodes, start.files);
  limits.open_files = start.open_files;
  limits.mount_file_bytes = start.file_bytes;
  return limits;
}

std::uint64_t RealNow() {
  return ReadSystemClock(CLOCK_REALTIME);
}
std::uint64_t MonotonicNow() {
  return ReadSystemClock(CLOCK_MONOTONIC);
}
std::uint64_t ThreadCpuNow() {
  return ReadSystemClock(CLOCK_THREAD_CPUTIME_ID);
}

WorkerCell::WorkerCell(LinearMemory memory, const LibraryImage& library, HostChannel& channel)
    : channel_(channel),
      library_(library),
      memory_(std::move(memory)),
      context_(memory_),
      files_(*this) {}

Result<void> WorkerCell::Start(std::uint64_t id, const wire::StartHeader& start,
                               std::string_view request, std::string_view trace,
                               std::vector<InputFile> files, std::vector<Mount> mounts) {
  id_ = id;
  inputs_ = std::move(files);
  if ((start.flags & wire::kRecorded) != 0) {
    trace_.Begin([this] { return TraceBase(); });
    if (!trace_.Replay(trace)) {
      return Error(ErrorCode::kInvalidArgument, "the trace of the run is damaged");
    }
    std::memcpy(chance_.seed, start.seed, sizeof chance_.seed);
    chance_.position = 0;
  }
  TRY(files_.Start(library_, inputs_, FileLimitsOf(start), std::move(mounts)));
  BeginRun(start, request);
  return {};
}

void WorkerCell::Again(const wire::StartHeader& start, std::string_view request) {
  BeginRun(start, request);
}

void WorkerCell::BeginRun(const wire::StartHeader& start, std::string_view request) {
  start_ = start;
  arrived_ns_ = MonotonicNow();
  began_ns_ = 0;
  deadline_ns_ = arrived_ns_ + start.wall_ns;
  cpu_ns_ = 0;
  flags_ = 0;
  calls_ = 0;
  reported_ = false;
  report_.clear();
  written_bytes_[0] = written_bytes_[1] = 0;
  messages_.clear();
  answers_.clear();
  open_calls_.clear();
  posting_ = {};
  messages_.emplace_back(request);
  wait_answer_ = 0;
  wake_ns_ = 0;
  context_.Prepare();
  state_ = CellState::kReady;
}

Left WorkerCell::Go() {
  GuestHost::current = this;
  if (began_ns_ == 0) began_ns_ = MonotonicNow();
  // Reading this clock is a system call, so the worker's own work since its last reading is counted
  // for the cell as well. That is very little, except for long resets, which read the clock again.
  if (g_cpu_read_ns == 0) g_cpu_read_ns = ThreadCpuNow();
  cpu_since_ns_ = g_cpu_read_ns;
  const Left left = context_.Go(wait_answer_);
  g_cpu_read_ns = ThreadCpuNow();
  cpu_ns_ += g_cpu_read_ns - cpu_since_ns_;
  cpu_since_ns_ = 0;
  GuestHost::current = nullptr;
  if (left == Left::kParked) Park();
  return left;
}

void WorkerCell::Park() {
  if (std::exchange(about_to_wait_, false)) {
    state_ = asking_ ? CellState::kAsking : CellState::kReady;
    return;
  }
  wait_seq_ = caisson_switch.wait_seq;
  wake_ns_ = 0;
  const std::int64_t timeout = caisson_switch.wait_timeout_ns;
  wait_varies_ = trace_.records() && (wait_seq_ < 0 || timeout >= 0);
  if (wait_varies_) {
    if (const auto recorded = trace_.NextWait()) return ParkAsRecorded(*recorded);
  }
  if (DeliverAwaited()) return;
  state_ = CellState::kParked;
  FlushOutput();
  if (timeout < 0) return;
  if (timeout == 0) return Wake();
  SleepUntil(MonotonicNow() + static_cast<std::uint64_t>(timeout));
}

// In a replay a wait ends as it did before.
void WorkerCell::ParkAsRecorded(const TraceEntry& recorded) {
  if (recorded.kind == TraceKind::kTimedOut) return Wake();
  if (recorded.kind == TraceKind::kAnswered) wait_seq_ = static_cast<std::int32_t>(recorded.value);
  if (DeliverAwaited()) return;
  state_ = CellState::kParked;
  FlushOutput();
  if (recorded.kind != TraceKind::kSleepsUntil) return;
  const std::uint64_t real = RealNow();
  SleepUntil(MonotonicNow() + (recorded.value - std::min(recorded.value, real)));
}

void WorkerCell::SleepUntil(std::uint64_t wake_ns) {
  wake_ns_ = wake_ns;
  if (trace_.records() && !goes_on_soon()) TellSleep();
}

void WorkerCell::TellSleep() {
  told_sleep_ = true;
  const wire::SleepHeader header{.wake_ns = RealWakeTime()};
  channel_.Send(wire::ToHost::kSleep, id_, AsBytes(header), {});
}

bool WorkerCell::goes_on_soon() const {
  if (!trace_.records() || wake_ns_ == 0) return false;
  // Prevents a loop that sleeps from filling the store.
  const std::uint64_t grown =
      memory_.bytes() - std::min(memory_.bytes(), memory_.base().memory().size());
  const std::uint64_t worth = wire::kLongSleepNs * (1 + grown / wire::kSavedBytesPerSleep);
  return wake_ns_ < MonotonicNow() + worth;
}

std::uint64_t WorkerCell::RealWakeTime() const {
  return RealNow() + (wake_ns_ - std::min(wake_ns_, MonotonicNow()));
}

bool WorkerCell::DeliverAwaited() {
  const auto awaited = std::ranges::find_if(answers_, [this](const ReceivedAnswer& answer) {
    return wait_seq_ < 0 || answer.seq == static_cast<std::uint32_t>(wait_seq_);
  });
  if (awaited == answers_.end()) return false;
  const std::uint32_t seq = awaited->seq;
  messages_.push_back(std::move(awaited->bytes));
  answers_.erase(awaited);
  wait_answer_ = 1;
  EndWait({TraceKind::kAnswered, seq});
  return true;
}

void WorkerCell::Wake() {
  wait_answer_ = 0;
  EndWait({TraceKind::kTimedOut});
}

void WorkerCell::EndWait(TraceEntry how) {
  if (wait_varies_) trace_.Record(how);
  wait_varies_ = false;
  wake_ns_ = 0;
  state_ = CellState::kReady;
  if (!std::exchange(told_sleep_, false)) return;
  const wire::SleepHeader header{.wake_ns = 0};
  channel_.Send(wire::ToHost::kSleep, id_, AsBytes(header), {});
}

bool WorkerCell::HasRoomFor(std::size_t answer_bytes) const {
  std::uint64_t waiting = answer_bytes;
  for (const std::string& message : messages_) waiting += message.size();
  for (const ReceivedAnswer& answer : answers_) waiting += answer.bytes.size();
  return waiting <= kMinUnreadBytes || waiting + memory_.bytes() <= start_.memory_bytes;
}

bool WorkerCell::Answer(const wire::AnswerHeader& header, std::string_view answer) {
  const auto open = std::ranges::find(open_calls_, header.seq);
  if (open == open_calls_.end()) return false;
  open_calls_.erase(open);
  answers_.push_back({header.seq, std::string(answer)});
  if (state_ == CellState::kParked) DeliverAwaited();
  return true;
}

bool WorkerCell::AnswerFile(const wire::FileAnswerHeader& header, std::string_view bytes) {
  if (!asking_ || header.number != file_requests_) return false;
  // The host sent this: if it is invalid, nothing can be trusted.
  if (!files_.Deliver(header.error, bytes)) std::abort();
  asking_ = false;
  if (state_ != CellState::kAsking) return false;
  state_ = CellState::kReady;
  return true;
}

std::optional<wire::Ending> WorkerCell::PassedLimit(std::uint64_t now_ns) const {
  if (now_ns >= deadline_ns_) return wire::Ending::kWallTime;
  const std::uint64_t running = cpu_since_ns_ == 0 ? 0 : ThreadCpuNow() - cpu_since_ns_;
  if (cpu_ns_ + running >= start_.cpu_ns) return wire::Ending::kCpuTime;
  return std::nullopt;
}

void WorkerCell::BeginFinish(wire::Ending ending, std::uint32_t detail) {
  FlushPosted();
  FlushOutput();
  asking_ = about_to_wait_ = false;  // A late answer must not change the data being sent.
  context_.Forget();
  state_ = CellState::kEnding;
  finishing_.emplace(Finishing{.ending = ending, .detail = detail, .capture = files_.Captured()});
  if (finishing_->capture.mounts_incomplete) flags_ |= wire::kChangesMissing;
}

bool WorkerCell::FinishSlice() {
  std::uint64_t sent = 0;
  while (sent < kSliceBytes) {
    if (finishing_->open != nullptr) {
      sent += SendContents({});
    } else if (finishing_->next < finishing_->capture.files.size()) {
      BeginFile(finishing_->capture.files[finishing_->next++]);
      sent += kPageBytes;  // Empty files take time too.
    } else {
      SendDone();
      finishing_.reset();
      return true;
    }
  }
  return false;
}

void WorkerCell::SendDone() {
  wire::Ending ending = finishing_->ending;
  if (ending == wire::Ending::kReported && !reported_) ending = wire::Ending::kTrap;
  const bool keep = (start_.flags & wire::kKeepCell) != 0 && ending == wire::Ending::kReported;
  const std::uint64_t now = MonotonicNow();
  wire::DoneHeader done{};
  done.ending = ending;
  done.detail = finishing_->detail;
  done.start_ns = (began_ns_ == 0 ? now : began_ns_) - arrived_ns_;
  done.wall_ns = now - arrived_ns_;
  done.cpu_ns = cpu_ns_;
  done.peak_memory_bytes = memory_.bytes();
  done.flags = flags_ | (keep ? wire::kCellKept : 0);
  done.calls = calls_;
  channel_.Send(wire::ToHost::kDone, id_, AsBytes(done), reported_ ? report_ : std::string_view());
  if (keep) state_ = CellState::kIdle;
}

wire::Omitted WorkerCell::OmittedBecause(const CapturedFile& file) {
  if (finishing_->next > start_.files) return wire::Omitted::kFiles;
  if (file.size > start_.file_bytes) return wire::Omitted::kFileBytes;
  if (file.size > start_.total_file_bytes - finishing_->total_bytes) {
    return wire::Omitted::kTotalFileBytes;
  }
  return wire::Omitted::kNot;
}

void WorkerCell::BeginFile(const CapturedFile& file) {
  // One file more than allowed is sent, so that the host knows that there were more.
  if (finishing_->next > start_.files && file.mount) flags_ |= wire::kChangesMissing;
  if (finishing_->next > std::uint64_t{start_.files} + 1) return;
  std::string_view path = file.path;
  if (file.mount) path.remove_prefix(files_.mount_path(*file.mount).size() + 1);
  wire::ChangeHeader header{};
  header.file.path_length = static_cast<std::uint32_t>(path.size());
  header.file.change = static_cast<std::uint32_t>(file.change);
  header.file.size = file.size;
  header.file.omitted = OmittedBecause(file);
  if (file.mount) {
    header.mount = *file.mount;
    header.directory = file.directory ? 1 : 0;
    header.seen = file.seen;
  }
  if (header.file.omitted == wire::Omitted::kNot) finishing_->total_bytes += file.size;
  std::string head(file.mount ? AsBytes(header) : AsBytes(header.file));
  head += path;
  finishing_->open = &file;
  const bool contents = header.file.omitted == wire::Omitted::kNot && file.contents != nullptr;
  finishing_->sent_bytes = contents ? 0 : file.size;
  SendContents(head);
}

// Sends one frame of the open file: `head`, then as much of its contents as fits.
std::uint64_t WorkerCell::SendContents(std::string_view head) {
  static std::uint8_t buffer[wire::kMaxFramePayload];
  const CapturedFile& file = *finishing_->open;
  const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(
      file.size - finishing_->sent_bytes, wire::kMaxFramePayload - head.size()));
  if (length > 0) file.contents->Read(finishing_->sent_bytes, {buffer, length});
  finishing_->sent_bytes += length;
  const bool more = finishing_->sent_bytes < file.size;
  channel_.SendPart(file.mount ? wire::ToHost::kChange : wire::ToHost::kFile, id_, head,
                    {reinterpret_cast<const char*>(buffer), length}, more);
  if (!more) finishing_->open = nullptr;
  return length;
}

void WorkerCell::Reset() {
  context_.Forget();
  context_.ResetGlobals();
  files_.Reset();
  inputs_.clear();
  const bool took_long = memory_.Reset();
  messages_.clear();
  answers_.clear();
  open_calls_.clear();
  posting_ = {};
  output_.clear();
  report_.clear();
  clock_offset_ns_ = 0;
  if (trace_.records()) trace_.Stop();
  asking_ = about_to_wait_ = wait_varies_ = told_sleep_ = false;
  finishing_.reset();
  id_ = 0;
  state_ = CellState::kClean;
  if (took_long) g_cpu_read_ns = ThreadCpuNow();
}

std::string WorkerCell::Save(std::span<const std::uint8_t> build_id, std::uint64_t max_bytes) {
  const std::uint64_t now = MonotonicNow();
  trace_.Renew();
  SavedFields fields;
  fields.parked = state_ == CellState::kParked;
  fields.recorded = trace_.records();
  fields.wall_ns = fields.parked ? now - arrived_ns_ : 0;
  fields.cpu_ns = cpu_ns_;
  fields.monotonic_ns = ReadClock(ClockId::kMonotonic);
  fields.real_ns = RealNow();
  fields.trace_part = trace_.part();
  fields.trace_bytes = trace_.bytes();
  fields.chance = chance_;
  fields.flags = flags_;
  std::ranges::copy(written_bytes_, fields.written_bytes);
  fields.calls = calls_;
  fields.wait_seq = wait_seq_;
  fields.wait_varies = wait_varies_;
  fields.wake_ns = wake_ns_ == 0 ? 0 : RealWakeTime();
  fields.open_calls = open_calls_;
  for (const ReceivedAnswer& answer : answers_)
    fields.answers.emplace_back(answer.seq, answer.bytes);
  for (const std::string& message : messages_) fields.messages.emplace_back(message);
  for (const InputFile& input : inputs_) fields.inputs.emplace_back(input.path, *input.contents);
  std::string files;
  files_.Save(files);
  fields.files = {reinterpret_cast<const std::uint8_t*>(files.data()), files.size()};
  fields.wasm_pages = memory_.wasm_pages();
  fields.stack_global = context_.stack_global();
  fields.stack_pointer = context_.stack_pointer();
  if (fields.parked) fields.stack = context_.ParkedStack();

  std::string blob;
  blob.reserve(64 << 10);
  EncodeSaved({build_id, memory_.base().header().hash}, fields, blob);
  const auto base = memory_.base().memory();
  for (const PageRange& range : memory_.FindDirty()) {
    for (std::uint32_t page = range.first; page < range.first + range.count; ++page) {
      if (blob.size() > max_bytes) return blob;
      const std::uint64_t at = page * kPageBytes;
      AppendChangedPage(page, memory_.data() + at, at < base.size() ? base.data() + at : kZeroPage,
                        blob);
    }
  }
  return blob;
}

// The host is told when the cell continues; from now on it treats the cell as waiting.
void WorkerCell::SendTail() {
  if (!trace_.records()) return;
  const bool sleeps = wake_ns_ != 0;
  told_sleep_ = sleeps;
  const wire::TailHeader header{.wake_ns = sleeps ? RealWakeTime() : 0};
  channel_.Send(wire::ToHost::kTail, id_, AsBytes(header),
                trace_.Unfinished(sleeps ? std::optional(header.wake_ns) : std::nullopt));
}

Result<void> WorkerCell::Restore(std::uint64_t id, const wire::StartHeader& start,
                                 std::vector<Mount> mounts, std::string_view trace,
                                 std::span<const std::uint8_t> blob,
                                 std::span<const std::uint8_t> build_id) {
  TRY_ASSIGN(const SavedFields fields, DecodeSaved({build_id, memory_.base().header().hash}, blob));
  const Error damaged(ErrorCode::kInvalidArgument, "the saved cell is damaged");
  const std::uint64_t now = MonotonicNow();
  id_ = id;
  start_ = start;
  // May lie before this machine was started; only differences to it are used.
  arrived_ns_ = began_ns_ = now - fields.wall_ns;
  deadline_ns_ = now + (start.wall_ns - std::min(fields.wall_ns, start.wall_ns));
  cpu_ns_ = fields.cpu_ns;
  // The monotonic clock continues from its saved value, advanced by the real time that has passed;
  // never back.
  const std::uint64_t real = RealNow();
  const std::uint64_t passed = real - std::min(real, fields.real_ns);
  clock_offset_ns_ = static_cast<std::int64_t>(fields.monotonic_ns + passed - now);
  chance_ = fields.chance;
  if (fields.recorded) {
    trace_.Continue([this] { return TraceBase(); }, fields.calls, std::string(fields.trace_part),
                    fields.trace_bytes);
    if (!trace_.Replay(trace)) return damaged;
  }
  flags_ = fields.flags;
  written_bytes_[0] = std::min(fields.written_bytes[0], start.stdout_bytes);
  written_bytes_[1] = std::min(fields.written_bytes[1], start.stderr_bytes);
  calls_ = fields.calls;
  wait_seq_ = fields.wait_seq;
  wait_varies_ = fields.wait_varies;
  if (fields.wake_ns != 0) {
    wake_ns_ = now + std::min(fields.wake_ns - std::min(fields.wake_ns, real), start.wall_ns);
  }
  open_calls_ = fields.open_calls;
  for (const auto& [seq, bytes] : fields.answers) answers_.push_back({seq, std::string(bytes)});
  for (std::string_view message : fields.messages) messages_.emplace_back(message);
  for (const auto& [path, contents] : fields.inputs) {
    inputs_.push_back({std::string(path), std::make_shared<const std::string>(contents)});
  }
  TRY(files_.Start(library_, inputs_, FileLimitsOf(start), std::move(mounts)));
  TRY(files_.Restore(fields.files));

  if (fields.wasm_pages * kWasmPageBytes > start.memory_bytes) {
    return Error(ErrorCode::kResourceExhausted, "the saved cell uses more memory than is allowed");
  }
  if (fields.wasm_pages < memory_.wasm_pages() || !memory_.GrowTo(fields.wasm_pages))
    return damaged;
  TRY(ApplyChangedPages(fields.pages, {memory_.data(), memory_.bytes()}));
  if (!fields.parked) {
    context_.RestoreGlobals(fields.stack_global);
    state_ = CellState::kIdle;
    return {};
  }
  if (!context_.RestoreParked(fields.stack_pointer, fields.stack, fields.stack_global))
    return damaged;
  state_ = CellState::kParked;
  DeliverAwaited();
  return {};
}

void WorkerCell::FlushOutput() {
  if (output_.empty()) return;
  const char stream = output_stream_ == Stream::kOut ? 1 : 2;
  channel_.Send(wire::ToHost::kOutput, id_, {&stream, 1}, output_);
  output_.clear();
}

void WorkerCell::TryFlushOutput() {
  if (output_.empty()) return;
  const char stream = output_stream_ == Stream::kOut ? 1 : 2;
  if (channel_.TrySend(wire::ToHost::kOutput, id_, {&stream, 1}, output_)) output_.clear();
}

std::optional<std::int32_t> WorkerCell::Post(std::uint32_t address, std::uint32_t length,
                                             Progress& progress) {
  if (progress.done == 0) {
    const auto message = guest_memory().Text(address, length);
    if (!message || length > start_.message_bytes) return -1;
    if (calls_ >= start_.tool_calls) Stop(wire::Ending::kToolCalls);
    BeginPost(*message);
    progress.done = 1;
  } else {
    SendPosted(kSliceBytes);
  }
  if (!posting_.empty()) return std::nullopt;
  return static_cast<std::int32_t>(calls_ - 1);
}

// Sends the head of a call, the trace first, and as much of the message as fits into the same
// frame.
void WorkerCell::BeginPost(std::string_view message) {
  const std::string part = trace_.records() ? trace_.EndPart() : std::string();
  const wire::CallHeader header{calls_++, static_cast<std::uint32_t>(part.size())};
  open_calls_.push_back(header.seq);
  FlushOutput();
  posting_ = message;
  const std::string head = std::string(AsBytes(header)) + part;
  std::string_view rest = head;
  for (; rest.size() >= wire::kMaxFramePayload; rest.remove_prefix(wire::kMaxFramePayload)) {
    channel_.SendPart(wire::ToHost::kCall, id_, {}, rest.substr(0, wire::kMaxFramePayload), true);
  }
  const std::size_t first = std::min(posting_.size(), wire::kMaxFramePayload - rest.size());
  channel_.SendPart(wire::ToHost::kCall, id_, rest, posting_.substr(0, first),
                    first < posting_.size());
  posting_.remove_prefix(first);
}

void WorkerCell::SendPosted(std::size_t bytes) {
  while (bytes > 0 && !posting_.empty()) {
    const std::size_t part = std::min({bytes, posting_.size(), wire::kMaxFramePayload});
    channel_.SendPart(wire::ToHost::kCall, id_, {}, posting_.substr(0, part),
                      part < posting_.size());
    posting_.remove_prefix(part);
    bytes -= part;
  }
}

std::optional<std::uint32_t> WorkerCell::Take(std::uint32_t address, std::uint32_t capacity,
                                              Progress& progress) {
  if (messages_.empty()) return 0;
  const std::string& message = messages_.front();
  const auto length = static_cast<std::uint32_t>(message.size());
  if (length > capacity) return length;
  const auto to = guest_memory().Range(address, length);
  if (!to) return 0;
  const std::size_t part = std::min<std::size_t>(length - progress.done, kSliceBytes);
  std::memcpy(to->data() + progress.done, message.data() + progress.done, part);
  progress.done += part;
  if (progress.done < length) return std::nullopt;
  messages_.pop_front();
  return length;
}

bool WorkerCell::Report(std::uint32_t address, std::uint32_t length, Progress& progress) {
  const auto report = guest_memory().Text(address, length);
  if (!report) return true;
  if (length > start_.result_bytes + wire::kReportSlackBytes) Stop(wire::Ending::kResultTooBig);
  if (progress.done == 0) {
    report_.clear();
    report_.reserve(length);
  }
  const std::size_t part = std::min<std::size_t>(length - progress.done, kSliceBytes);
  report_.append(report->substr(progress.done, part));
  progress.done += part;
  reported_ = progress.done == length;
  return reported_;
}

void WorkerCell::AskHost() {
  const HostRequest& wanted = files_.wanted();
  FlushOutput();
  asking_ = about_to_wait_ = true;
  ++file_requests_;
  if (wanted.kind == HostRequest::Kind::kList) {
    const wire::FileListHeader header{.number = file_requests_, .mount = wanted.mount};
    return channel_.Send(wire::ToHost::kFileList, id_, AsBytes(header), wanted.path);
  }
  const wire::FileReadHeader header{.number = file_requests_,
                                    .mount = wanted.mount,
                                    .version = wanted.version,
                                    .offset = wanted.offset,
                                    .length = wanted.length,
                                    .exact = wanted.exact ? 1U : 0U};
  channel_.Send(wire::ToHost::kFileRead, id_, AsBytes(header), wanted.path);
}

std::uint32_t WorkerCell::Grow(std::uint32_t delta) {
  const std::uint32_t before = memory_.wasm_pages();
  const std::uint64_t after = std::uint64_t{before} + delta;
  if (after * kWasmPageBytes > start_.memory_bytes ||
      !memory_.GrowTo(static_cast<std::uint32_t>(after))) {
    flags_ |= wire::kMemoryRefused;
    return UINT32_MAX;
  }
  context_.MemoryGrew();
  return before;
}

void WorkerCell::Write(Stream stream, std::span<const std::uint8_t> bytes) {
  const bool is_stdout = stream == Stream::kOut;
  std::uint64_t& written = written_bytes_[is_stdout ? 0 : 1];
  const std::uint64_t room = (is_stdout ? start_.stdout_bytes : start_.stderr_bytes) - written;
  if (bytes.size() > room) {
    flags_ |= is_stdout ? wire::kStdoutTruncated : wire::kStderrTruncated;
    bytes = bytes.first(room);
  }
  if (bytes.empty()) return;
  written += bytes.size();
  if (stream != output_stream_) FlushOutput();
  output_stream_ = stream;
  output_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (output_.size() >= kOutputFlushBytes) FlushOutput();
}

std::uint64_t WorkerCell::ReadClock(ClockId clock) const {
  if (clock == ClockId::kRealtime) return RealNow();
  if (clock == ClockId::kMonotonic)
    return MonotonicNow() + static_cast<std::uint64_t>(clock_offset_ns_);
  return cpu_ns_ + (ThreadCpuNow() - cpu_since_ns_);
}

std::uint64_t WorkerCell::Clock(ClockId clock) {
  if (!trace_.records()) return ReadClock(clock);
  const auto kind = static_cast<TraceKind>(clock);
  std::uint64_t reading = 0;
  if (const auto recorded = trace_.NextReading(kind)) {
    reading = recorded->value;
    if (clock == ClockId::kMonotonic) FollowRecordedClock(reading);
  } else {
    reading = ReadClock(clock);
  }
  trace_.Record({kind, reading});
  return reading;
}

// When the replay is over, the monotonic clock continues from the last recorded reading, advanced
// by the real time that has passed since; never back.
void WorkerCell::FollowRecordedClock(std::uint64_t reading) {
  const Trace::Base& base = trace_.replayed_base();
  const std::uint64_t real = RealNow();
  const std::uint64_t at = base.real_ns + (reading - base.monotonic_ns);
  const std::uint64_t passed = real - std::min(real, at);
  clock_offset_ns_ = static_cast<std::int64_t>(reading + passed - MonotonicNow());
}

void WorkerCell::Random(std::span<std::uint8_t> out) {
  if (trace_.records()) return chance_.Fill(out);
  while (!out.empty()) {
    const ssize_t got = ::getrandom(out.data(), out.size(), 0);
    if (got <= 0) std::abort();  // Never return anything but entropy.
    out = out.subspan(static_cast<std::size_t>(got));
  }
}

void WorkerCell::Stop(wire::Ending ending) {
  caisson_switch.left = Left::kStopped;
  caisson_switch.detail = static_cast<std::uint32_t>(ending);
  // Abandons the frames of the host function that called this one: they own nothing now.
  caisson_leave();
}

}  // namespace caisson::worker
