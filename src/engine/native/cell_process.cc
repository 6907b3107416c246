#include "engine/native/cell_process.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>
#include <utility>

#include "base/tree.h"
#include "engine/native/captured_files.h"
#include "engine/native/cell_process_map.h"
#include "engine/native/cell_verdict.h"
#include "wire/process_map.h"

namespace caisson {
namespace {

using wire::ToHost;
using wire::ToWorker;

constexpr std::size_t kReadBytes = 64u << 10;
// Memory that a cgroup allows beyond the run's own: the copied pages of a warm interpreter and of
// its processes; and the memory before a run.
constexpr std::uint64_t kOwnMemory = 32u << 20;
constexpr std::uint64_t kMemoryWhileMade = 256u << 20;
// Maximum number of reads per turn for a cell that floods us.
constexpr int kReadsPerTurn = 4;
// Maximum content of a pipe or socket whose writers are dead: its buffer.
constexpr int kReadsAtTheEnd = 256;
// Short messages are sent together, in parts of this size.
constexpr std::size_t kPartBytes = 64u << 10;
// The clock of file systems may be late; it is read again after this time.
constexpr std::chrono::microseconds kShortestNap{100};
// For cells in a scratch space; the same as for cells with a namespace (forkserver/cell.h).
constexpr std::size_t kThreads = 16;
// A pool of processes needs two for itself and two for each process.
constexpr std::size_t kPipes = 12;
constexpr std::size_t kPipesPerProcess = 4;
constexpr std::size_t kScratchNames = 4096;
constexpr std::uint64_t kScratchBytes = 64u << 20;
// How often their files are measured. A cell can exceed its limit by what it can write in this
// time.
constexpr std::chrono::milliseconds kLookAtFiles{50};
// A thread that the code has joined exists for a moment longer in the kernel, longer on a busy
// machine. The host looks again after a pause that doubles each time, and refuses after this time.
constexpr std::chrono::milliseconds kThreadsEndWithin{500};
constexpr std::chrono::milliseconds kFirstPause{1};
// Minimum interval between two readings of the CPU time.
constexpr std::chrono::milliseconds kShortestLook{1};
// Files of a run that has ended are read in turns, which take about a millisecond.
constexpr int kCapturesPerTurn = 64;
constexpr std::size_t kLargeFileBytes = 64u << 10;

Error Violation(const std::string& what) {
  return Error(ErrorCode::kInternal, "the cell broke the protocol: " + what);
}

Verdict BrokenProtocol(const std::string& why) {
  return {.status = RunStatus::kFailed,
          .reason = RunReason::kCrashed,
          .error = RunError{.type = "ProtocolError", .message = why}};
}

// The buffer for every read of a lane; its content is used before the next read.
std::array<char, kReadBytes>& ReadBuffer() {
  static thread_local std::array<char, kReadBytes> buffer;
  return buffer;
}

Result<void> Assign(asio::posix::stream_descriptor& descriptor, UniqueFd fd) {
  boost::system::error_code error;
  descriptor.assign(fd.get(), error);
  if (error) return Error(ErrorCode::kInternal, "watch a cell: " + error.message());
  (void)fd.Release();  // Asio closes it.
  descriptor.non_blocking(true, error);
  if (error) return Error(ErrorCode::kInternal, "prepare a cell's descriptor: " + error.message());
  return {};
}

void Close(asio::posix::stream_descriptor& descriptor) {
  boost::system::error_code ignored;
  descriptor.close(ignored);
}

// How many times faster than wall time a process can use CPU time.
int Parallelism() {
  static const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  return cores;
}

std::chrono::nanoseconds DurationOf(const timespec& time) {
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

// The clock that file systems use for time stamps, and its resolution.
std::chrono::system_clock::time_point CoarseNow() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return std::chrono::system_clock::time_point(DurationOf(now));
}
std::chrono::nanoseconds CoarseTick() {
  timespec step{};
  ::clock_getres(CLOCK_REALTIME_COARSE, &step);
  return DurationOf(step);
}

std::uint64_t Count(std::chrono::nanoseconds time) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, time.count()));
}

void AppendFrames(ToWorker kind, std::string_view head, std::string_view body, std::string& out) {
  std::size_t left = head.size() + body.size();
  do {
    const std::size_t length = std::min(left, wire::kMaxFramePayload);
    left -= length;
    const wire::StreamFrame frame{.length = static_cast<std::uint32_t>(length),
                                  .kind = std::to_underlying(kind),
                                  .flags = left == 0 ? std::uint16_t{0} : wire::kMoreFollows};
    out.append(reinterpret_cast<const char*>(&frame), sizeof frame);
    const std::string_view first = head.substr(0, length);
    const std::string_view second = body.substr(0, length - first.size());
    out.append(first).append(second);
    head.remove_prefix(first.size());
    body.remove_prefix(second.size());
  } while (left > 0);
}

}  // namespace

CellProcess::CellProcess(asio::io_context& context, std::uint64_t number, CellVariety variety,
                         const Boundary& boundary, CellParent parent)
    : context_(context),
      number_(number),
      variety_(std::move(variety)),
      boundary_(boundary),
      parent_(parent),
      asks_(context),
      socket_(context),
      out_(context, 1),
      err_(context, 2),
      timer_(context) {}

// --- The life of the cell, as the fork server reports it.

std::vector<UniqueFd> CellProcess::MakeGroup() {
  if (variety_.processes == 1) return {};
  auto group =
      jail::Cgroup::Create(jail::Cgroup::NameFor(number_),
                           {.memory_bytes = kMemoryWhileMade, .processes = variety_.processes});
  auto doors = group ? group->Doors() : Result<std::vector<UniqueFd>>(group.error());
  if (!doors || doors->size() > wire::kMaxCellGroups) {
    boundary_.missing.emplace_back("cgroup");
    return {};
  }
  group_.emplace(*std::move(group));
  return *std::move(doors);
}

Result<void> CellProcess::OnPrepared(CellDescriptors descriptors) {
  prepared_ = true;
  TRY(Assign(socket_, std::move(descriptors.socket)));
  TRY(Assign(out_.descriptor, std::move(descriptors.out)));
  TRY(Assign(err_.descriptor, std::move(descriptors.err)));
  files_ = std::move(descriptors.files);
  layers_ = std::move(descriptors.layers);
  if (descriptors.listener.is_open() && files_.is_open()) {
    UniqueFd watched(::fcntl(descriptors.listener.get(), F_DUPFD_CLOEXEC, 0));
    questions_.emplace(std::move(descriptors.listener), files_, pidfd_,
                       CellCounts{.threads = kThreads,
                                  .names = std::max<std::size_t>(variety_.files, kScratchNames),
                                  .pipes = kPipes + kPipesPerProcess * variety_.processes},
                       parent_.pipes);
    TRY(Assign(asks_, std::move(watched)));
    AwaitQuestions();
  }
  clock_ = ProcessClock::Of(pidfd_);
  cpu_before_ = CpuUsed().value_or(std::chrono::nanoseconds(0));
  // Everything is watched from now on, so that starting a run takes only a write.
  AwaitSocket();
  AwaitOutput(out_);
  AwaitOutput(err_);
  return {};
}

void CellProcess::Reserve(std::chrono::nanoseconds keep, std::shared_ptr<void> witness) {
  reserved_ = true;
  witness_ = std::move(witness);
  timer_.expires_after(keep);
  timer_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    if (!error && self->reserved_) self->Kill();
  });
}

void CellProcess::EndReserve(std::move_only_function<void()> then) {
  reserved_ = false;
  witness_ = nullptr;
  timer_.cancel();
  begins_at_ = std::chrono::system_clock::now();
  if (!variety_.mounts || !variety_.mounts->any_applied()) return then();
  AwaitTick(std::move(then));
}

// File systems stamp changes with a clock that advances in ticks: a change right after begins_at_
// would look older.
void CellProcess::AwaitTick(std::move_only_function<void()> then) {
  const auto tick = CoarseNow();
  if (!waits() || tick > *begins_at_) return then();
  const auto now = std::chrono::system_clock::now();
  begins_at_ = std::min(*begins_at_, now);  // The clock may have been set back.
  timer_.expires_after(std::max<std::chrono::nanoseconds>(tick + CoarseTick() - now, kShortestNap));
  timer_.async_wait([self = shared_from_this(),
                     then = std::move(then)](const boost::system::error_code& /*killed*/) mutable {
    self->AwaitTick(std::move(then));
  });
}

bool CellProcess::IsAlive() const {
  pollfd ended{.fd = pidfd_.get(), .events = POLLIN, .revents = 0};
  return ::poll(&ended, 1, 0) == 0;
}

void CellProcess::Kill() {
  if (gone_ || killed_at_) return;
  killed_at_ = std::chrono::steady_clock::now();
  timer_.cancel();
  if (pidfd_.is_open()) ::syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGKILL, nullptr, 0);
  Close(socket_);  // No more messages are expected.
  // Their remaining content is read when the cell is gone; their end is no news.
  for (Output* output : {&out_, &err_}) {
    if (output->descriptor.is_open()) output->rest = UniqueFd(output->descriptor.release());
  }
}

void CellProcess::OnGone(const wire::CellGone& gone) {
  const auto self = shared_from_this();
  gone_ = true;
  timer_.cancel();
  // The report of the end does not include descendants that died with it.
  const auto tree = group_ ? group_->CpuTime().value_or(cpu_used_) : cpu_used_;
  cpu_used_ =
      std::max(tree, std::chrono::nanoseconds(std::min<std::uint64_t>(gone.cpu_ns, INT64_MAX)));
  peak_memory_bytes_ = gone.peak_memory_bytes;
  if (gone.files_untouched != 0) files_ = UniqueFd();  // They belong to the next cell now.
  if (protocol_) ReadTheRest();
  if (!protocol_) return CloseAll();
  capture_.emplace(start_);
  if (files_.is_open()) capture_->ListOutput(files_);
  CaptureFiles(gone);
}

void CellProcess::OnLost(RunReason reason, const std::string& why) {
  const auto self = shared_from_this();
  gone_ = true;
  timer_.cancel();
  if (auto protocol = std::exchange(protocol_, nullptr)) protocol->OnLost(reason, why);
  CloseAll();
}

void CellProcess::CloseAll() {
  Close(socket_);
  for (Output* output : {&out_, &err_}) {
    Close(output->descriptor);
    output->rest = UniqueFd();
  }
  Close(asks_);
  questions_.reset();
  if (parent_.scratch != nullptr && files_.is_open()) parent_.scratch->Remove(std::move(files_));
  files_ = UniqueFd();
  layers_.clear();
  group_.reset();
}

// --- Requests of the protocol.

void CellProcess::Attach(std::shared_ptr<CellProtocol> protocol) {
  protocol_ = std::move(protocol);
}

void CellProcess::Detach(CellProtocol& /*session*/) {
  protocol_.reset();
  Kill();
}

void CellProcess::Defer(std::move_only_function<void()> completion) {
  asio::post(context_, std::move(completion));
}

Result<void> CellProcess::Send(ToWorker kind, std::uint64_t /*cell*/, std::string_view head,
                               std::string_view body) {
  if (gone_ || killed_at_) return Error(ErrorCode::kUnavailable, "the cell is gone");
  if (kind == ToWorker::kCancel) {
    if (!verdict_ && !reported_) {
      verdict_ = Verdict{.status = RunStatus::kCancelled, .reason = RunReason::kKilled};
    }
    Kill();
    return {};
  }
  if (kind == ToWorker::kSave) TRY(RequireCopies());
  if (kind == ToWorker::kAnswer && !HasRoomForAnswer(head.size() + body.size(), unsent_bytes_)) {
    return TooManyAnswers();
  }
  if (kind == ToWorker::kSave) {
    may_ask_process_map_ = true;
    AwaitAnswer();
  } else if (kind != ToWorker::kAnswer) {
    wire::StartHeader start;
    std::memcpy(&start, head.data(), sizeof start);
    if ((start.flags & wire::kKeepCell) != 0 && variety_.mounts && variety_.mounts->any_applied()) {
      return Error(
          ErrorCode::kFailedPrecondition,
          "engine native applies writes below an rw mount when the process has ended, so a "
          "session cannot have one; run it in engine wasm");
    }
    BeginRun(start);
    if (kind == ToWorker::kRestore) AwaitAnswer();
  }
  Queue(kind, head, body);
  if (!is_corked_) Flush();
  return {};
}

void CellProcess::Queue(ToWorker kind, std::string_view head, std::string_view body) {
  const std::size_t length = head.size() + body.size();
  if (unsent_.empty() || unsent_.back().size() + length > kPartBytes) unsent_.emplace_back();
  std::string& part = unsent_.back();
  const std::size_t before = part.size();
  if (length > kPartBytes) {
    part.reserve(length + (length / wire::kMaxFramePayload + 1) * sizeof(wire::StreamFrame));
  }
  AppendFrames(kind, head, body, part);
  unsent_bytes_ += part.size() - before;
  if (protocol_) protocol_->SetUnsent(unsent_bytes_);
}

Result<void> CellProcess::RequireCopies() const {
  if (parent_.copies) return RequireCleanLayers();
  return Error(ErrorCode::kFailedPrecondition,
               "engine native copies sessions of its own Python in tier namespace, and this is "
               "another Python or another tier; run the session in engine wasm");
}

Result<void> CellProcess::OnAskProcessMap() {
  if (!std::exchange(may_ask_process_map_, false)) return Violation("it asks out of place");
  answer_by_.reset();  // It waits for the host now.
  thread_watch_ = ThreadWatch{.pause = kFirstPause,
                              .until = std::chrono::steady_clock::now() + kThreadsEndWithin};
  return SendProcessMap();
}

// The host tells the cell what it cannot see itself. The cell waits, so the process map is still
// true when it reads it.
Result<void> CellProcess::SendProcessMap() {
  struct stat out{};
  struct stat error_out{};
  ::fstat(out_.fd(), &out);
  ::fstat(err_.fd(), &error_out);
  auto process_map = MapCellProcesses(pidfd_, {.out = out.st_ino, .error_out = error_out.st_ino});
  if (process_map && process_map->other_threads > 0) {
    if (std::chrono::steady_clock::now() < thread_watch_->until) {
      AwaitEndOfThreads();
      return {};
    }
    process_map = Error(ErrorCode::kFailedPrecondition,
                        "the session has threads that still run (" +
                            std::to_string(process_map->other_threads) +
                            "), and they cannot be copied; let them end first");
  }
  thread_watch_.reset();
  Queue(ToWorker::kSave, {}, process_map ? process_map->bytes : std::string_view());
  if (!is_corked_) Flush();
  if (!process_map) return protocol_->OnMessage(ToHost::kRefused, process_map.error().message());
  AwaitAnswer();
  return {};
}

void CellProcess::AwaitEndOfThreads() {
  timer_.expires_after(std::exchange(thread_watch_->pause, 2 * thread_watch_->pause));
  timer_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    if (error || !self->thread_watch_ || self->gone_ || self->killed_at_) return;
    const auto good = self->SendProcessMap();
    if (!good) self->End(BrokenProtocol(good.error().message()));
  });
}

// Data written below a mount is not in the cell's private files.
Result<void> CellProcess::RequireCleanLayers() const {
  for (const UniqueFd& layer : layers_) {
    const int fd = ::openat(layer.get(), ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR* const directory = fd >= 0 ? ::fdopendir(fd) : nullptr;
    if (directory == nullptr) return Error::FromErrno(errno, "look at a layer");
    int entries = 0;  // "." and ".." are two.
    // NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is our own.
    while (::readdir(directory) != nullptr && entries < 3) ++entries;
    ::closedir(directory);
    if (entries > 2) {
      return Error(
          ErrorCode::kFailedPrecondition,
          "the session has changed files below a mount, and engine native cannot copy these; "
          "keep them in /tmp or /output, or run the session in engine wasm");
    }
  }
  return {};
}

std::optional<CellOrigin> CellProcess::origin() const {
  return CellOrigin{.owner = OwnerId(""), .lane = parent_.lane, .parent = parent_.number};
}

void CellProcess::AwaitAnswer() {
  answer_by_ = std::chrono::steady_clock::now() + parent_.copied_within;
  SetTimer();
}

void CellProcess::BeginRun(const wire::StartHeader& start) {
  if (std::exchange(taken_, true)) {
    cpu_before_ = CpuUsed().value_or(cpu_before_);  // Excludes earlier runs of a session.
  }
  cpu_used_ = cpu_before_;
  start_ = start;
  // Its private files are memory too, with a separate limit.
  if (group_ && !group_->LimitMemory(start.memory_bytes + variety_.file_bytes + kOwnMemory)) {
    boundary_.missing.emplace_back("cgroup");
  }
  started_at_ = std::chrono::steady_clock::now();
  reported_at_.reset();
  out_.room = start.stdout_bytes;
  err_.room = start.stderr_bytes;
  out_.truncated = err_.truncated = false;
  SetTimer();
}

void CellProcess::Flush() {
  if (awaits_room_) return;
  while (!unsent_.empty()) {
    const std::string& part = unsent_.front();
    const ssize_t n = ::send(socket_.native_handle(), part.data() + sent_, part.size() - sent_,
                             MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) {
      sent_ += static_cast<std::size_t>(n);
      unsent_bytes_ -= static_cast<std::size_t>(n);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      break;
    } else if (errno != EINTR) {
      // The cell is dead: the fork server reports how, and nothing else matters.
      unsent_.clear();
      unsent_bytes_ = sent_ = 0;
      break;
    }
    if (sent_ < part.size()) continue;
    unsent_.pop_front();
    sent_ = 0;
  }
  if (protocol_) protocol_->SetUnsent(unsent_bytes_);
  if (unsent_.empty()) return;
  awaits_room_ = true;
  socket_.async_wait(Descriptor::wait_write,
                     [self = shared_from_this()](const boost::system::error_code& error) {
                       self->awaits_room_ = false;
                       if (!error && !self->gone_) self->Flush();
                     });
}

// --- Messages of the cell.

void CellProcess::AwaitQuestions() {
  asks_.async_wait(Descriptor::wait_read,
                   [self = shared_from_this()](const boost::system::error_code& error) {
                     if (error || self->gone_) return;
                     if (self->questions_->Answer()) self->AwaitQuestions();
                   });
}

void CellProcess::AwaitSocket() {
  socket_.async_wait(Descriptor::wait_read,
                     [self = shared_from_this()](const boost::system::error_code& error) {
                       if (!error && !self->gone_) self->OnSocketReadable();
                     });
}

void CellProcess::OnSocketReadable() {
  // It was asked nothing: it died, or is misbehaving.
  if (!protocol_) return Kill();
  if (killed_at_) return;
  Pending pending = Pending::kMore;
  for (int reads = 0; pending == Pending::kMore && reads < kReadsPerTurn; ++reads) {
    pending = ReadSocket();
    ReadOutputs();  // Output that it printed earlier comes first.
    // Calls that were made together and are answered at once are answered together: the cell wakes
    // up once.
    is_corked_ = true;
    const auto good = HandleFrames();
    is_corked_ = false;
    if (!good) return End(BrokenProtocol(good.error().message()));
    if (killed_at_ || !protocol_) return;
    Flush();
  }
  if (pending != Pending::kEnd) AwaitSocket();  // The fork server reports the end as well.
}

CellProcess::Pending CellProcess::ReadSocket() {
  auto& buffer = ReadBuffer();
  const ssize_t n = ::recv(socket_.native_handle(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (n == 0) return Pending::kEnd;
  if (n < 0) return errno == EINTR ? Pending::kMore : Pending::kNone;
  const auto size = static_cast<std::size_t>(n);
  frames_.Add({buffer.data(), size});
  return size == buffer.size() ? Pending::kMore : Pending::kNone;
}

Result<void> CellProcess::HandleFrames() {
  while (protocol_ && !reported_) {
    TRY_ASSIGN(const auto frame, frames_.Next());
    if (!frame) return {};
    TRY(OnFrame(*frame));
  }
  return {};
}

Result<void> CellProcess::OnFrame(const StreamedFrame& frame) {
  if ((frame.flags & ~wire::kMoreFollows) != 0) return Violation("unknown frame flags");
  if (frame.kind == std::to_underlying(ToHost::kDone)) return OnDoneFrame(frame);
  if (!done_.empty()) return Violation("two messages are mixed");
  if (frame.kind == wire::kAskProcessMap) return OnAskProcessMap();
  const auto kind = static_cast<ToHost>(frame.kind);
  if (kind == ToHost::kCall || kind == ToHost::kRefused) {
    if (kind == ToHost::kRefused) {
      answer_by_.reset();
      thread_watch_.reset();
    }
    return protocol_->OnFrame(kind, frame.flags, frame.payload);
  }
  if (!answer_by_ || (kind != ToHost::kSaved && kind != ToHost::kRestored)) {
    return Violation("frame kind " + std::to_string(frame.kind) + " out of place");
  }
  if (frame.flags == 0) {
    answer_by_.reset();
    timer_.cancel();
    reported_at_ = std::chrono::steady_clock::now();
  }
  return protocol_->OnFrame(kind, frame.flags, frame.payload);
}

Result<void> CellProcess::OnDoneFrame(const StreamedFrame& frame) {
  const auto allowed = protocol_->Allowed(ToHost::kDone);
  if (!allowed || protocol_->mid_message()) return Violation("an end out of place");
  if (done_.size() + frame.payload.size() > *allowed) return Violation("a report is too long");
  done_.append(frame.payload);
  if ((frame.flags & wire::kMoreFollows) != 0) return {};

  wire::DoneHeader header;
  if (done_.size() < sizeof header) return Violation("a bad end");
  std::memcpy(&header, done_.data(), sizeof header);
  reported_at_ = std::chrono::steady_clock::now();
  if ((header.flags & wire::kCellKept) != 0) {
    if ((start_.flags & wire::kKeepCell) == 0) return Violation("a cell kept unasked");
    return FinishKept();
  }
  reported_ = true;
  Kill();
  return {};
}

// The run has ended and the process stays: for its owner's next run, or to be killed if it is not
// wanted.
Result<void> CellProcess::FinishKept() {
  timer_.cancel();
  cpu_used_ = CpuUsed().value_or(cpu_before_);
  wire::DoneHeader header = Measured();
  header.flags |= wire::kCellKept;
  std::string message = std::exchange(done_, {});
  std::memcpy(message.data(), &header, sizeof header);
  return protocol_->OnMessage(ToHost::kDone, message);
}

void CellProcess::AwaitOutput(Output& output) {
  output.descriptor.async_wait(Descriptor::wait_read, [self = shared_from_this(), &output](
                                                          const boost::system::error_code& error) {
    if (error || self->gone_) return;
    for (int reads = 0; reads < kReadsPerTurn; ++reads) {
      if (!self->ReadOutput(output)) break;
    }
    if (!self->killed_at_) self->AwaitOutput(output);
  });
}

// Returns true if there may be more. Output beyond the cap is read as well, so that the writer
// continues.
bool CellProcess::ReadOutput(Output& output) {
  auto& buffer = ReadBuffer();
  buffer[0] = output.stream;
  const ssize_t n = ::read(output.fd(), buffer.data() + 1, buffer.size() - 1);
  if (n <= 0) return n < 0 && errno == EINTR;
  if (!protocol_ || !protocol_->run_may_speak()) return true;  // Between two runs of a session.
  const auto kept = std::min<std::uint64_t>(static_cast<std::uint64_t>(n), output.room);
  output.room -= kept;
  output.truncated = output.truncated || kept < static_cast<std::uint64_t>(n);
  if (kept > 0) {
    const auto good = protocol_->OnMessage(ToHost::kOutput, {buffer.data(), kept + 1});
    if (!good) End(BrokenProtocol(good.error().message()));
  }
  return static_cast<std::size_t>(n) == buffer.size() - 1;
}

void CellProcess::ReadOutputs() {
  for (Output* output : {&out_, &err_}) {
    for (int reads = 0; reads < kReadsPerTurn && ReadOutput(*output); ++reads) {
    }
  }
}

// --- Time.

// The CPU time of a cell with several processes includes all of them, also dead ones.
std::optional<std::chrono::nanoseconds> CellProcess::CpuUsed() const {
  if (!clock_) return std::nullopt;
  if (variety_.processes == 1) return clock_->Read(pidfd_);
  const auto group = group_ ? group_->CpuTime() : std::nullopt;
  return group ? group : clock_->ReadTree(pidfd_);
}

// Sets the next time at which a limit could be exceeded. Several threads can use CPU time at once.
void CellProcess::SetTimer() {
  const std::chrono::nanoseconds wall(start_.wall_ns);
  SteadyTime next = answer_by_.value_or(started_at_ + wall);
  if (clock_ && !answer_by_) {
    const std::chrono::nanoseconds cpu_left =
        std::chrono::nanoseconds(start_.cpu_ns) - (cpu_used_ - cpu_before_);
    const SteadyTime look =
        std::chrono::steady_clock::now() +
        std::max<std::chrono::nanoseconds>(cpu_left / Parallelism(), kShortestLook);
    next = std::min(next, look);
  }
  if (parent_.scratch != nullptr)
    next = std::min(next, std::chrono::steady_clock::now() + kLookAtFiles);
  timer_.expires_at(next);
  timer_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    if (!error && !self->gone_ && !self->killed_at_) self->OnTimer();
  });
}

void CellProcess::OnTimer() {
  if (answer_by_ && std::chrono::steady_clock::now() >= *answer_by_) {
    return End(BrokenProtocol("it did not answer when it was to be copied"));
  }
  if (!protocol_ || reported_at_ || answer_by_) return;
  if (std::chrono::steady_clock::now() >= started_at_ + std::chrono::nanoseconds(start_.wall_ns)) {
    return End({.status = RunStatus::kLimit, .reason = RunReason::kWallTime});
  }
  cpu_used_ = CpuUsed().value_or(cpu_used_);
  if (cpu_used_ - cpu_before_ >= std::chrono::nanoseconds(start_.cpu_ns)) {
    return End({.status = RunStatus::kLimit, .reason = RunReason::kCpuTime});
  }
  if (IsBeyondItsFiles()) return End({.status = RunStatus::kLimit, .reason = RunReason::kFiles});
  SetTimer();
}

// In a scratch space no file system bounds the total size of all files, only the size of each and
// their number.
bool CellProcess::IsBeyondItsFiles() const {
  if (parent_.scratch == nullptr || !questions_ || !questions_->made_names()) return false;
  const TreeSize size = MeasureTree(files_, std::max<std::size_t>(variety_.files, kScratchNames));
  return size.bytes > std::max(variety_.file_bytes, kScratchBytes);
}

// --- Its end.

void CellProcess::End(Verdict verdict) {
  if (!verdict_) verdict_ = std::move(verdict);
  Kill();
}

wire::DoneHeader CellProcess::Measured() const {
  wire::DoneHeader header{};
  if (done_.size() >= sizeof header) std::memcpy(&header, done_.data(), sizeof header);
  const auto wall =
      reported_at_.value_or(killed_at_.value_or(std::chrono::steady_clock::now())) - started_at_;
  header.wall_ns = Count(wall);
  // The cell reports this value itself.
  header.start_ns = std::min(header.start_ns, header.wall_ns);
  header.cpu_ns = Count(cpu_used_ - cpu_before_);
  if (gone_) header.peak_memory_bytes = peak_memory_bytes_;
  header.flags &= wire::kMemoryRefused;
  if (out_.truncated) header.flags |= wire::kStdoutTruncated;
  if (err_.truncated) header.flags |= wire::kStderrTruncated;
  return header;
}

// Messages sent before the cell died still count, unless we killed it for them.
void CellProcess::ReadTheRest() {
  Pending pending = Pending::kMore;
  for (int reads = 0; pending == Pending::kMore && reads < kReadsAtTheEnd; ++reads) {
    if (verdict_ || reported_) break;
    pending = ReadSocket();
    if (auto good = HandleFrames(); !good) verdict_ = BrokenProtocol(good.error().message());
    if (!protocol_) return;
  }
  for (Output* output : {&out_, &err_}) {
    for (int reads = 0; reads < kReadsAtTheEnd && ReadOutput(*output); ++reads) {
    }
  }
}

// Reads some of the files, then lets the lane serve others before it continues. The run ends after
// the last one.
void CellProcess::CaptureFiles(const wire::CellGone& gone) {
  const auto self = shared_from_this();
  for (int steps = 0; protocol_ && steps < kCapturesPerTurn && !capture_->done(); ++steps) {
    auto file = capture_->ReadOutput(files_);
    if (!file) break;  // The rest of a large one is read in the next turn.
    if (file->contents.size() > kLargeFileBytes) steps = kCapturesPerTurn;
    protocol_->AddFile(*std::move(file));
  }
  if (!protocol_) return CloseAll();  // Nobody waits for the run any more.
  if (!capture_->done()) {
    return asio::post(context_, [self, gone] { self->CaptureFiles(gone); });
  }
  CaptureLayers();
  Conclude(gone);
  CloseAll();
}

void CellProcess::CaptureLayers() {
  if (layers_.empty()) return;
  Layer layer{.entries = {},
              .since = begins_at_.value_or(variety_.mounts->opened_at()),
              .max_files = static_cast<std::size_t>(start_.files) + 1};
  const auto points = variety_.mounts->points();
  std::size_t next = 0;
  for (std::uint32_t i = 0; i < points.size(); ++i) {
    if (points[i].mode == MountMode::kReadOnly) continue;
    capture_->AddLayer(layers_[next++], i, points[i].guest_path, layer.entries);
  }
  protocol_->AddLayer(std::move(layer));
}

void CellProcess::Conclude(const wire::CellGone& gone) {
  wire::DoneHeader header = Measured();
  const auto protocol = protocol_;  // Keeps it alive: it releases this object.
  if (reported_ && !verdict_) {
    std::memcpy(done_.data(), &header, sizeof header);
    auto good = protocol->OnMessage(ToHost::kDone, done_);
    if (!good) protocol->OnDied(header, BrokenProtocol(good.error().message()));
    return;
  }
  if (!verdict_ && gone.signal == 0) {
    header.ending = wire::Ending::kExit;
    header.detail = static_cast<std::uint32_t>(gone.status);
    const std::string_view bytes(reinterpret_cast<const char*>(&header), sizeof header);
    (void)protocol->OnMessage(ToHost::kDone, bytes).has_value();
    return;
  }
  if (!verdict_ && gone.signal == SIGKILL && group_ && group_->ran_out_of_memory()) {
    verdict_ = Verdict{.status = RunStatus::kLimit, .reason = RunReason::kMemory};
  }
  protocol->OnDied(header, verdict_ ? *std::move(verdict_)
                                    : JudgeSignal(gone.signal, cpu_used_ - cpu_before_,
                                                  std::chrono::nanoseconds(start_.cpu_ns)));
}

}  // namespace caisson
