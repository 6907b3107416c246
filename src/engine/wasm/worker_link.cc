#include "engine/wasm/worker_link.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace caisson {
namespace {

using wire::ToHost;
using wire::ToWorker;

// Maximum number of frames, and maximum time, per turn for a worker that floods its ring.
constexpr int kFramesPerTurn = 256;
constexpr std::chrono::microseconds kTurn{500};
// Maximum size of messages to the worker that wait for space in the ring, except answers, which are
// limited for each cell. Starts have the size of their files; a cell has one.
constexpr std::size_t kMaxQueuedBytes = 256u << 20;
constexpr std::size_t kMaxStraySaves = 64;
constexpr std::size_t kMaxMissingWalls = 64;
// A worker checks its ring between any two slices of guest code, so within milliseconds.
constexpr std::chrono::seconds kMaxUnread{5};
// Maximum time that a run may exceed its deadline while its worker is busy with others.
constexpr std::chrono::seconds kPatience{30};

Error Violation(const std::string& what) {
  return Error(ErrorCode::kInternal, "the worker broke the protocol: " + what);
}

}  // namespace

WorkerLink::WorkerLink(Channel& channel, std::string tier)
    : host_watches_(channel.layout().host_watches),
      writer_(channel.layout().to_worker, channel.to_worker()),
      reader_(channel.layout().to_host, channel.to_host()),
      boundary_{.engine = "wasm", .tier = std::move(tier), .missing = {}} {}

WorkerLink::~WorkerLink() {
  LoseAll(RunReason::kKilled, "the engine was shut down");
}

Result<bool> WorkerLink::Pump() {
  in_turn_ = true;
  Result<void> good;
  bool more = false;
  const auto end = std::chrono::steady_clock::now() + kTurn;
  for (int count = 0;; ++count) {
    if (count == kFramesPerTurn || (count > 0 && std::chrono::steady_clock::now() > end)) {
      more = true;
      break;
    }
    auto frame = reader_.Next();
    if (!frame) {
      good = Violation(frame.error().message());
      break;
    }
    if (!frame->has_value()) break;
    ++frames_read_;
    good = OnFrame(**frame);
    if (!good) break;
  }
  if (reader_.TakeWriterWaits()) wire::FutexWake(reader_.header().head);
  RunDeferred();
  if (good && !turns_.empty()) good = WriteQueued();
  in_turn_ = false;
  if (wrote_) WakeReader();
  if (!good || broken_) {
    broken_ = true;
    return good ? Violation("its ring's position is impossible") : std::move(good).error();
  }
  return more;
}

void WorkerLink::RunDeferred() {
  // A completion may cause further ones and the end of sessions, but never the end of the link: its
  // owner ends it only from its own handlers.
  for (int round = 0; round < 8 && !deferred_.empty(); ++round) {
    for (auto& completion : std::exchange(deferred_, {})) completion();
  }
  if (!deferred_.empty()) request_turn();
}

void WorkerLink::Defer(std::move_only_function<void()> completion) {
  deferred_.push_back(std::move(completion));
  if (!in_turn_ && deferred_.size() == 1) request_turn();
}

Result<void> WorkerLink::OnFrame(const wire::Frame& frame) {
  if (frame.kind == 0 || frame.kind > std::to_underlying(wire::kLastToHost)) {
    return Violation("unknown frame kind " + std::to_string(frame.kind));
  }
  if ((frame.flags & ~wire::kMoreFollows) != 0) return Violation("unknown frame flags");
  const auto kind = static_cast<ToHost>(frame.kind);
  if (kind == ToHost::kReady) return OnReady(frame);
  if (!ready_) return Violation("a frame before it was ready");

  const auto found = protocols_.find(frame.cell);
  if (found == protocols_.end()) {
    const auto stray = std::ranges::find(stray_saves_, frame.cell);
    if (kind == ToHost::kRefused && frame.flags == 0 && stray != stray_saves_.end()) {
      stray_saves_.erase(stray);
      return {};
    }
    return Violation("a frame of a cell that is not there");
  }
  // Kept alive during the call: the call may remove it from the table.
  const std::shared_ptr<CellProtocol> protocol = found->second;
  return protocol->OnFrame(kind, frame.flags, frame.payload);
}

Result<void> WorkerLink::OnReady(const wire::Frame& frame) {
  wire::ReadyHeader header;
  if (ready_ || frame.flags != 0 || frame.cell != 0 || frame.payload.size() < sizeof header) {
    return Violation("a bad ready frame");
  }
  std::memcpy(&header, frame.payload.data(), sizeof header);
  std::string_view rest = frame.payload.substr(sizeof header);
  if (header.missing_length != rest.size()) return Violation("a bad ready frame");
  WorkerReady ready;
  std::ranges::copy(header.build_id, ready.build.build_id.begin());
  std::ranges::copy(header.base_hash, ready.build.base_hash.begin());
  ready.base_bytes = header.base_bytes;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    if (end > 0) ready.missing.emplace_back(rest.substr(0, end));
    if (ready.missing.size() > kMaxMissingWalls) return Violation("a bad ready frame");
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  boundary_.missing = ready.missing;
  ready_ = std::move(ready);
  return {};
}

Result<void> WorkerLink::Send(ToWorker kind, std::uint64_t cell, std::string_view head,
                              std::string_view body) {
  if (broken_) return Error(ErrorCode::kUnavailable, "the worker is being replaced");
  const std::size_t length = head.size() + body.size();
  if (turns_.empty() && length <= wire::kMaxFramePayload) {
    auto written = writer_.Write(std::to_underlying(kind), 0, cell, head, body);
    if (written) {
      wrote_ = true;
      if (!in_turn_) WakeReader();
      return {};
    }
    if (written.error().code() != ErrorCode::kResourceExhausted) {
      broken_ = true;
      if (!in_turn_) request_turn();
      return written;
    }
  }
  const auto queue = queues_.find(cell);
  if (kind == ToWorker::kAnswer) {
    const std::size_t unsent = queue == queues_.end() ? 0 : queue->second.bytes;
    if (!HasRoomForAnswer(length, unsent)) return TooManyAnswers();
  } else if (length > kMaxQueuedBytes - queued_bytes_) {
    return Error(ErrorCode::kResourceExhausted, "too much waits to be sent to the worker");
  } else {
    queued_bytes_ += length;
  }
  std::string bytes;
  bytes.reserve(length);
  bytes.append(head).append(body);
  if (queue == queues_.end()) turns_.push_back(cell);
  Queue& waiting = queues_[cell];
  waiting.messages.push_back({.kind = kind, .bytes = std::move(bytes)});
  waiting.bytes += length;
  TellUnsent(cell, waiting.bytes);
  if (in_turn_) return {};
  auto written = WriteQueued();
  if (wrote_) WakeReader();
  if (!written) request_turn();
  return written;
}

Result<void> WorkerLink::WriteQueued() {
  while (!turns_.empty()) {
    const std::uint64_t cell = turns_.front();
    Queue& queue = queues_.at(cell);
    Outgoing& message = queue.messages.front();
    const std::string_view rest = std::string_view(message.bytes).substr(message.sent);
    const std::string_view part = rest.substr(0, wire::kMaxFramePayload);
    const std::uint16_t flags = part.size() < rest.size() ? wire::kMoreFollows : 0;
    auto written = writer_.Write(std::to_underlying(message.kind), flags, cell, part);
    if (!written) {
      // Full: the worker notifies us when there is space, which leads to Pump.
      if (written.error().code() == ErrorCode::kResourceExhausted) return {};
      broken_ = true;
      return written;
    }
    wrote_ = true;
    message.sent += part.size();
    if (flags != 0) continue;
    const std::size_t length = message.bytes.size();
    if (message.kind != ToWorker::kAnswer) queued_bytes_ -= length;
    queue.bytes -= length;
    queue.messages.pop_front();
    TellUnsent(cell, queue.bytes);
    turns_.pop_front();
    if (queue.messages.empty()) {
      queues_.erase(cell);
    } else {
      turns_.push_back(cell);
    }
  }
  return {};
}

void WorkerLink::TellUnsent(std::uint64_t cell, std::size_t bytes) const {
  const auto protocol = protocols_.find(cell);
  if (protocol != protocols_.end()) protocol->second->SetUnsent(bytes);
}

void WorkerLink::WakeReader() {
  wrote_ = false;
  if (writer_.reader_waits()) wire::FutexWake(writer_.header().tail);
}

void WorkerLink::SetWatching(bool watching) {
  host_watches_.store(watching ? 1 : 0, std::memory_order_relaxed);
  reader_.header().reader_waits.store(watching ? 0 : 1, std::memory_order_seq_cst);
}

void WorkerLink::Attach(std::shared_ptr<CellProtocol> protocol) {
  const std::uint64_t id = protocol->id();
  protocols_.emplace(id, std::move(protocol));
}

void WorkerLink::Detach(CellProtocol& protocol) {
  protocols_.erase(protocol.id());
}

void WorkerLink::ExpectStraySaveAnswer(std::uint64_t cell) {
  stray_saves_.push_back(cell);
  if (stray_saves_.size() > kMaxStraySaves) stray_saves_.pop_front();
}

void WorkerLink::LoseAll(RunReason reason, const std::string& why) {
  broken_ = true;
  in_turn_ = true;
  for (auto& [id, protocol] : std::exchange(protocols_, {})) protocol->OnLost(reason, why);
  queues_.clear();
  turns_.clear();
  while (!deferred_.empty()) {
    for (auto& completion : std::exchange(deferred_, {})) completion();
  }
}

std::optional<std::string> WorkerLink::Stuck(SteadyTime now) {
  const std::uint32_t head = writer_.header().head.load(std::memory_order_relaxed);
  const bool unread = head != writer_.header().tail.load(std::memory_order_relaxed);
  if (!unread || head != seen_head_ || !unread_since_) {
    seen_head_ = head;
    unread_since_ = unread ? std::optional(now) : std::nullopt;
  } else if (now - *unread_since_ > kMaxUnread) {
    return "it does not read its messages";
  }
  // A worker that still sends messages may have much to clean up; a silent one hangs.
  const bool silent = std::exchange(frames_seen_, frames_read_) == frames_read_;
  for (const auto& [id, protocol] : protocols_) {
    if (protocol->overdue(silent ? now : now - kPatience)) {
      return "a run went on beyond its time limit";
    }
  }
  return std::nullopt;
}

}  // namespace caisson
