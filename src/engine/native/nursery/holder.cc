#include "engine/native/nursery/holder.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "guest/abi.h"
#include "guest/native/forked.h"

namespace caisson::nursery {
namespace {

using std::chrono::nanoseconds;

constexpr std::uint64_t kSecondNs = 1'000'000'000;

Holder* g_holder = nullptr;
// How many of the wakes this thread has seen.
thread_local std::uint64_t t_wakes = 0;

std::uint64_t Read(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * kSecondNs +
         static_cast<std::uint64_t>(now.tv_nsec);
}
std::uint64_t Now() {
  return Read(CLOCK_MONOTONIC);
}
std::uint64_t CpuNow() {
  return Read(CLOCK_PROCESS_CPUTIME_ID);
}

template <typename T>
std::string_view AsBytes(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

// Whoever sends frames that make no sense is not our host.
template <typename T>
T TakeHeader(std::string_view& payload) {
  T header;
  if (payload.size() < sizeof header) std::abort();
  std::memcpy(&header, payload.data(), sizeof header);
  payload.remove_prefix(sizeof header);
  return header;
}

std::uint64_t PeakMemoryBytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace

Holder::Holder(int socket) : stream_(socket), owner_(::getpid()) {}

void SetHolder(Holder& holder) {
  g_holder = &holder;
}

wire::StartHeader Holder::AwaitStart() {
  while (true) {
    const Incoming frame = stream_.Read();
    if (frame.kind == wire::ToWorker::kAnswer) continue;  // To a call of the run before.
    if (frame.kind == wire::ToWorker::kCancel) ::_exit(EXIT_SUCCESS);
    if (frame.kind != wire::ToWorker::kStart && frame.kind != wire::ToWorker::kAgain) std::abort();
    arrived_ns_ = Now();
    cpu_before_ns_ = CpuNow();
    std::string_view payload = frame.payload;
    start_ = TakeHeader<wire::StartHeader>(payload);
    message_.assign(payload);
    more_ = frame.more;
    return start_;
  }
}

std::string_view Holder::TakeRest() {
  while (more_) {
    const Incoming frame = stream_.Read();
    message_.append(frame.payload);
    more_ = frame.more;
  }
  if (start_.request_length > message_.size()) std::abort();
  return std::string_view(message_).substr(start_.request_length);
}

void Holder::Refuse(std::string_view why) {
  stream_.Write(wire::ToHost::kRefused, {}, why);
}

bool Holder::Run() {
  {
    const Lock lock(mutex_);
    messages_.clear();
    open_calls_.clear();
    message_.resize(start_.request_length);
    messages_.push_back(std::move(message_));
  }
  calls_ = 0;
  reported_ = false;
  static_cast<void>(caisson_memory_refused());
  began_ns_ = Now();
  return caisson_run() == 0 && reported_;
}

bool Holder::IsForked() const {
  return ::getpid() != owner_;
}

bool Holder::Arrived(std::int32_t seq) const {
  if (seq == CAISSON_ANY_CALL) return !messages_.empty();
  return std::ranges::find(open_calls_, static_cast<std::uint32_t>(seq)) == open_calls_.end();
}

std::int32_t Holder::Wait(std::int32_t seq, std::int64_t timeout_ns) {
  if (IsForked()) ::_exit(EXIT_FAILURE);  // Nobody will ever answer here.
  std::optional<std::uint64_t> deadline_ns;
  if (timeout_ns >= 0) deadline_ns = Now() + static_cast<std::uint64_t>(timeout_ns);
  Lock lock(mutex_);
  for (bool looked = false; !Arrived(seq); looked = true) {
    if (seq == CAISSON_ANY_CALL && std::exchange(t_wakes, wakes_) != wakes_) return 0;
    if (looked && deadline_ns && Now() >= *deadline_ns) return 0;
    if (!is_read_) {
      ReadFor(lock, deadline_ns);
    } else if (!deadline_ns) {
      changed_.wait(lock);
    } else {
      const std::uint64_t now = Now();
      changed_.wait_for(lock, nanoseconds(now < *deadline_ns ? *deadline_ns - now : 0));
    }
  }
  return 1;
}

// Waits for the host on behalf of all threads that wait.
void Holder::ReadFor(Lock& lock, std::optional<std::uint64_t> deadline_ns) {
  if (wake_fd_ < 0) wake_fd_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  is_read_ = true;
  lock.unlock();
  timespec left{};
  if (deadline_ns) {
    const std::uint64_t now = Now();
    const std::uint64_t left_ns = now < *deadline_ns ? *deadline_ns - now : 0;
    left.tv_sec = static_cast<time_t>(left_ns / kSecondNs);
    left.tv_nsec = static_cast<long>(left_ns % kSecondNs);
  }
  std::array<pollfd, 2> ready = {{{.fd = stream_.socket(), .events = POLLIN, .revents = 0},
                                  {.fd = wake_fd_, .events = POLLIN, .revents = 0}}};
  if (!stream_.HasNext()) {
    ::ppoll(ready.data(), ready.size(), deadline_ns ? &left : nullptr, nullptr);
  }
  if (ready[1].revents != 0) {
    std::uint64_t count = 0;
    static_cast<void>(!::read(wake_fd_, &count, sizeof count));
  }
  std::optional<Incoming> frame;
  if (stream_.HasNext() || ready[0].revents != 0) frame = stream_.Read();
  std::string message;
  while (frame && frame->more) {
    message.append(frame->payload);
    frame = stream_.Read();
  }
  if (frame) message.append(frame->payload);
  lock.lock();
  is_read_ = false;
  if (frame) Deliver(frame->kind, std::move(message));
  changed_.notify_all();
}

void Holder::Deliver(wire::ToWorker kind, std::string message) {
  if (kind == wire::ToWorker::kCancel) ::_exit(EXIT_SUCCESS);
  if (kind != wire::ToWorker::kAnswer) std::abort();
  std::string_view payload = message;
  const auto header = TakeHeader<wire::AnswerHeader>(payload);
  const auto open = std::ranges::find(open_calls_, header.seq);
  if (open == open_calls_.end()) return;
  open_calls_.erase(open);
  messages_.emplace_back(payload);
}

void Holder::Wake() {
  const Lock lock(mutex_);
  ++wakes_;
  changed_.notify_all();
  const std::uint64_t one = 1;
  if (is_read_) static_cast<void>(!::write(wake_fd_, &one, sizeof one));
}

std::int32_t Holder::Post(std::string_view message) {
  if (IsForked() || message.size() > start_.message_bytes) return CAISSON_POST_REFUSED;
  if (calls_ >= start_.tool_calls) Stop(wire::Ending::kToolCalls);
  const wire::CallHeader header{.seq = calls_++, .reserved = 0};
  {
    const Lock lock(mutex_);
    open_calls_.push_back(header.seq);
  }
  stream_.Write(wire::ToHost::kCall, AsBytes(header), message);
  return static_cast<std::int32_t>(header.seq);
}

std::uint32_t Holder::Take(void* out, std::uint32_t capacity) {
  const Lock lock(mutex_);
  if (messages_.empty()) return 0;
  const std::string& message = messages_.front();
  const auto length = static_cast<std::uint32_t>(message.size());
  if (length > capacity) return length;
  std::memcpy(out, message.data(), length);
  messages_.pop_front();
  return length;
}

void Holder::Report(std::string_view report) {
  if (IsForked()) ::_exit(EXIT_SUCCESS);
  if (report.size() > start_.result_bytes + wire::kReportSlackBytes) {
    Stop(wire::Ending::kResultTooBig);
  }
  SendDone(wire::Ending::kReported, report);
  reported_ = true;
}

void Holder::SendDone(wire::Ending ending, std::string_view report) {
  const bool keep = (start_.flags & wire::kKeepCell) != 0 && ending == wire::Ending::kReported;
  const std::uint64_t now = Now();
  const wire::DoneHeader done{
      .ending = ending,
      .detail = 0,
      .start_ns = began_ns_ - arrived_ns_,
      .wall_ns = now - arrived_ns_,
      .cpu_ns = CpuNow() - cpu_before_ns_,
      .peak_memory_bytes = PeakMemoryBytes(),
      .flags =
          (caisson_memory_refused() != 0 ? wire::kMemoryRefused : 0) | (keep ? wire::kCellKept : 0),
      .calls = calls_,
  };
  stream_.Write(wire::ToHost::kDone, AsBytes(done), report);
}

// The run is over, whatever its threads do.
void Holder::Stop(wire::Ending ending) {
  SendDone(ending, {});
  ::_exit(EXIT_SUCCESS);
}

}  // namespace caisson::nursery

using caisson::nursery::g_holder;

int32_t host_wait(int32_t seq, int64_t timeout_ns) {
  return g_holder->Wait(seq, timeout_ns);
}
void host_wake(void) {
  g_holder->Wake();
}
int32_t host_post(const void* message, uint32_t length) {
  return g_holder->Post({static_cast<const char*>(message), length});
}
uint32_t host_take(void* out, uint32_t capacity) {
  return g_holder->Take(out, capacity);
}
void host_report(const void* message, uint32_t length) {
  g_holder->Report({static_cast<const char*>(message), length});
}
