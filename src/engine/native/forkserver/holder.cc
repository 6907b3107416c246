#include "engine/native/forkserver/holder.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <new>

#include "engine/native/forkserver/refused_memory.h"
#include "guest/abi.h"
#include "guest/native/forked.h"
#include "wire/value.h"

namespace caisson::forkserver {
namespace {

using std::chrono::nanoseconds;

constexpr std::uint64_t kSecondNs = 1'000'000'000;

Holder* g_holder = nullptr;
// The number of wakes that this thread has seen.
thread_local std::uint64_t t_wakes = 0;
// The run of its last call: another run may have begun by the time it waits for the answer.
thread_local std::uint64_t t_run = 0;

std::uint64_t Now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * kSecondNs +
         static_cast<std::uint64_t>(now.tv_nsec);
}

std::uint64_t Until(std::uint64_t time_ns) {
  const std::uint64_t now = Now();
  return now < time_ns ? time_ns - now : 0;
}

template <typename T>
std::string_view AsBytes(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

// Invalid frames cannot come from our host.
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

// In the words of the guest logic.
std::string EncodeOutOfMemory() {
  const auto text = [](const char* bytes) { return Value(std::string(bytes)); };
  Dict error{{{text("type"), text("MemoryError")},
              {text("message"), text("")},
              {text("line"), Value()},
              {text("traceback"), text("MemoryError\n")}}};
  Dict report{{{text("end"), text("raised")}, {text("error"), std::move(error)}}};
  std::string bytes;
  static_cast<void>(EncodeValue(std::move(report), bytes));  // Fails only on deep nesting.
  return bytes;
}

// Shared by a fork server and all its cells.
std::string_view OutOfMemoryReport() {
  static const std::string report = EncodeOutOfMemory();
  return report;
}

}  // namespace

Holder::Holder() : owner_(::getpid()), out_of_memory_report_(OutOfMemoryReport()) {}

void SetHolder(Holder& holder) {
  g_holder = &holder;
  std::set_new_handler(EndOutOfMemory);
}

void EndOutOfMemory() {
  if (g_holder != nullptr) g_holder->EndOutOfMemory();
}

// A library that got no memory and did not look crashes sooner or later. At the limit the stack
// cannot grow either, so the handler has one of its own.
void CatchFaults() {
  static std::array<char, 32768> stack;
  const stack_t own{.ss_sp = stack.data(), .ss_flags = 0, .ss_size = stack.size()};
  ::sigaltstack(&own, nullptr);
  struct sigaction action{};
  action.sa_handler = [](int signal) {
    g_holder->EndFaulted(signal);
    ::raise(signal);
  };
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER | SA_ONSTACK);
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) {
    ::sigaction(signal, &action, nullptr);
  }
}

Holder::Order Holder::AwaitOrder() {
  Lock lock(mutex_);
  while (!next_run_ && !next_copy_) AwaitNews(lock, std::nullopt);
  if (!next_copy_) return Order::kRun;
  // No thread waits: there is no run and no thread, otherwise the host would not ask.
  if (wake_fd_ >= 0) ::close(std::exchange(wake_fd_, -1));
  return *std::exchange(next_copy_, std::nullopt);
}

void Holder::SayRestored() {
  stream_.Connect(stream_.socket());
  stream_.Write(wire::ToHost::kRestored, {}, {});
}

wire::StartHeader Holder::AwaitStart() {
  Lock lock(mutex_);
  while (!next_run_) AwaitNews(lock, std::nullopt);
  arrived_ns_ = Now();
  message_ = *std::exchange(next_run_, std::nullopt);
  std::string_view payload = message_;
  start_ = TakeHeader<wire::StartHeader>(payload);
  if (start_.request_length > payload.size()) std::abort();
  return start_;
}

std::string_view Holder::files() const {
  return std::string_view(message_).substr(sizeof start_ + start_.request_length);
}

void Holder::Refuse(std::string_view why) {
  stream_.Write(wire::ToHost::kRefused, {}, why);
}

bool Holder::Run() {
  {
    const Lock lock(mutex_);
    ++run_;
    messages_.clear();
    open_calls_.clear();
    messages_.push_back(message_.substr(sizeof start_, start_.request_length));
  }
  message_ = {};
  calls_ = 0;
  reported_ = false;
  static_cast<void>(caisson_memory_refused());
  ForgetRefusedMemory();
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
  if (IsForked()) ::_exit(EXIT_FAILURE);  // No answer will ever come here.
  Deadline deadline;
  if (timeout_ns >= 0) deadline = Now() + static_cast<std::uint64_t>(timeout_ns);
  Lock lock(mutex_);
  stream_.Flush();
  const std::uint64_t run = seq == CAISSON_ANY_CALL ? run_ : t_run;
  for (bool looked = false; run != run_ || !Arrived(seq); looked = true) {
    if (seq == CAISSON_ANY_CALL && std::exchange(t_wakes, wakes_) != wakes_) return 0;
    if (looked && deadline && Now() >= *deadline) return 0;
    // Lets Wake() end the sleep of a thread that reads.
    if (seq == CAISSON_ANY_CALL && wake_fd_ < 0)
      wake_fd_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    AwaitNews(lock, deadline);
  }
  return 1;
}

// Waits until something has happened that this thread may have waited for, or until the deadline.
void Holder::AwaitNews(Lock& lock, Deadline deadline) {
  if (is_read_) {
    if (deadline) {
      changed_.wait_for(lock, nanoseconds(Until(*deadline)));
    } else {
      changed_.wait(lock);
    }
    return;
  }
  is_read_ = true;
  lock.unlock();
  std::optional<Message> message = Listen(deadline);
  lock.lock();
  is_read_ = false;
  if (message) Deliver(*std::move(message));
  changed_.notify_all();
}

// Returns the next message. nullopt: the thread was woken or its time has passed.
std::optional<Holder::Message> Holder::Listen(Deadline deadline) {
  const bool only_host_can_wake = !deadline && wake_fd_ < 0;
  if (!stream_.HasNext() && !only_host_can_wake) {
    const std::uint64_t left_ns = deadline ? Until(*deadline) : 0;
    const timespec left{.tv_sec = static_cast<time_t>(left_ns / kSecondNs),
                        .tv_nsec = static_cast<long>(left_ns % kSecondNs)};
    std::array<pollfd, 2> ready = {{{.fd = stream_.socket(), .events = POLLIN, .revents = 0},
                                    {.fd = wake_fd_, .events = POLLIN, .revents = 0}}};
    ::ppoll(ready.data(), ready.size(), deadline ? &left : nullptr, nullptr);
    if (ready[1].revents != 0) {
      std::uint64_t count = 0;
      static_cast<void>(!::read(wake_fd_, &count, sizeof count));
    }
    if (ready[0].revents == 0) return std::nullopt;
  }
  Message message;
  message.kind = stream_.PeekKind();
  if (message.kind == wire::ToWorker::kRestore) return message;
  Incoming frame;
  do {
    frame = stream_.Read();
    message.payload.append(frame.payload);
  } while (frame.more);
  return message;
}

void Holder::Deliver(Message message) {
  switch (message.kind) {
    case wire::ToWorker::kStart:
    case wire::ToWorker::kAgain:
      next_run_ = std::move(message.payload);
      return;
    case wire::ToWorker::kAnswer: {
      std::string_view payload = message.payload;
      const auto header = TakeHeader<wire::AnswerHeader>(payload);
      // Only if it answers a call of this run.
      if (std::erase(open_calls_, header.seq) > 0) messages_.emplace_back(payload);
      return;
    }
    case wire::ToWorker::kSave: {
      std::string_view payload = message.payload;
      save_ = TakeHeader<wire::SaveHeader>(payload);
      next_copy_ = Order::kSave;
      return;
    }
    case wire::ToWorker::kRestore:
      next_copy_ = Order::kRestore;
      return;
    case wire::ToWorker::kCancel:
      ::_exit(EXIT_SUCCESS);
    default:
      std::abort();
  }
}

void Holder::Wake() {
  const Lock lock(mutex_);
  ++wakes_;
  changed_.notify_all();
  const std::uint64_t one = 1;
  if (wake_fd_ >= 0) static_cast<void>(!::write(wake_fd_, &one, sizeof one));
}

std::int32_t Holder::Post(std::string_view message) {
  if (IsForked()) return CAISSON_POST_FORKED;
  if (message.size() > start_.message_bytes) return CAISSON_POST_TOO_BIG;
  if (calls_ >= start_.tool_calls) Stop(wire::Ending::kToolCalls);
  const wire::CallHeader header{.seq = calls_++, .trace_length = 0};
  {
    const Lock lock(mutex_);
    t_run = run_;
    open_calls_.push_back(header.seq);
    // Sent when a thread waits: calls that are made together wake the host once.
    stream_.Queue(wire::ToHost::kCall, AsBytes(header), message);
  }
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
  const bool refused = caisson_memory_refused() != 0 || WasMemoryRefused();
  const std::uint32_t flags = (refused ? wire::kMemoryRefused : 0) |
                              ((start_.flags & wire::kKeepCell) != 0 ? wire::kCellKept : 0);
  const Lock lock(mutex_);
  SendDone(MakeDone(wire::Ending::kReported, flags), report);
  reported_ = true;
}

void Holder::EndOutOfMemory() {
  if (!IsForked()) {
    SendDone(MakeDone(wire::Ending::kReported, wire::kMemoryRefused), out_of_memory_report_);
  }
  ::_exit(EXIT_SUCCESS);
}

void Holder::EndFaulted(int signal) {
  if (IsForked()) return;  // The next signal kills it, as it kills any process.
  if (IsMemoryShort()) EndOutOfMemory();
  if (signal != SIGABRT) return;
  wire::DoneHeader done = MakeDone(wire::Ending::kTrap, 0);
  done.detail = static_cast<std::uint32_t>(wire::Trap::kUnreachable);
  SendDone(done, {});
  ::_exit(EXIT_FAILURE);
}

wire::DoneHeader Holder::MakeDone(wire::Ending ending, std::uint32_t flags) const {
  const std::uint64_t now = Now();
  const bool is_kept = (flags & wire::kCellKept) != 0;
  return {
      .ending = ending,
      .detail = 0,
      .start_ns = began_ns_ - arrived_ns_,
      .wall_ns = now - arrived_ns_,
      .cpu_ns = 0,  // The host measures it.
      // For a cell that ends, the fork server reports it.
      .peak_memory_bytes = is_kept ? PeakMemoryBytes() : 0,
      .flags = flags,
      .calls = calls_,
  };
}

// Call it with the mutex held, except if there is no memory or the process aborts: this thread may
// hold the mutex then.
void Holder::SendDone(const wire::DoneHeader& done, std::string_view report) {
  stream_.Write(wire::ToHost::kDone, AsBytes(done), report);
}

// The run is over, whatever its threads do.
void Holder::Stop(wire::Ending ending) {
  const Lock lock(mutex_);
  SendDone(MakeDone(ending, 0), {});
  ::_exit(EXIT_SUCCESS);
}

}  // namespace caisson::forkserver

using caisson::forkserver::g_holder;

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
