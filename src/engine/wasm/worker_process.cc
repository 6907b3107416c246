#include "engine/wasm/worker_process.h"

#include <fcntl.h>
#include <string.h>
#include <sys/eventfd.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "engine/host/log_tail.h"

namespace caisson {
namespace {

// Gives Asio its own copy of the descriptor, which it closes.
Result<void> Assign(asio::posix::stream_descriptor& descriptor, const UniqueFd& fd) {
  const int copy = ::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return Error::FromErrno(errno, "duplicate a worker's descriptor");
  boost::system::error_code error;
  descriptor.assign(copy, error);
  if (!error) return {};
  ::close(copy);
  return Error(ErrorCode::kInternal, "watch a worker: " + error.message());
}

std::string Describe(const WorkerExit& exit) {
  if (exit.denied_syscall) return "it made a forbidden system call";
  if (exit.signal != 0) {
    const char* name = ::sigabbrev_np(exit.signal);
    return "it was killed by signal " + std::to_string(exit.signal) +
           (name == nullptr ? "" : " (SIG" + std::string(name) + ")");
  }
  return "it exited with status " + std::to_string(exit.status);
}

}  // namespace

Result<std::shared_ptr<WorkerProcess>> WorkerProcess::Start(asio::io_context& context,
                                                            Launcher& launcher,
                                                            const Options& options,
                                                            WorkerObserver& observer) {
  TRY_ASSIGN(Channel channel, Channel::Create());
  UniqueFd notify(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!notify.is_open()) return Error::FromErrno(errno, "create a worker's eventfd");
  // Neither end blocks: if a worker floods its log, the excess is lost.
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    return Error::FromErrno(errno, "create a worker's log");
  }
  UniqueFd log(pipe[0]);
  const UniqueFd log_end(pipe[1]);
  auto handle = launcher.Launch(
      {.channel = channel.memory(), .notify = notify, .log = log_end, .cpu = options.cpu});
  if (!handle) return std::move(handle).error().Context("start a worker");
  channel.CloseDescriptor();
  std::shared_ptr<WorkerProcess> worker(
      new WorkerProcess(context, std::move(channel), std::move(log), options, observer));
  TRY(worker->Observe(notify, *std::move(handle)));
  return worker;
}

WorkerProcess::WorkerProcess(asio::io_context& context, Channel channel, UniqueFd log,
                             const Options& options, WorkerObserver& observer)
    : context_(context),
      observer_(&observer),
      channel_(std::move(channel)),
      log_(std::move(log)),
      ready_by_(std::chrono::steady_clock::now() + options.ready_within),
      notify_(context),
      ended_(context) {
  link_.emplace(channel_, options.tier);
  link_->request_turn = [this] { RequestTurn(); };
}

WorkerProcess::~WorkerProcess() {
  Stop();
}

Result<void> WorkerProcess::Observe(const UniqueFd& notify, std::unique_ptr<WorkerHandle> handle) {
  handle_ = std::move(handle);
  TRY(Assign(notify_, notify));
  TRY(Assign(ended_, handle_->ended()));
  AwaitNotify();
  AwaitEnd();
  return {};
}

void WorkerProcess::AwaitNotify() {
  notify_.async_read_some(
      asio::buffer(&notify_count_, sizeof notify_count_),
      [self = shared_from_this()](const boost::system::error_code& error, std::size_t) {
        if (error || self->lost_) return;
        self->Turn();
        if (!self->lost_) self->AwaitNotify();
      });
}

void WorkerProcess::AwaitEnd() {
  ended_.async_wait(asio::posix::stream_descriptor::wait_read,
                    [self = shared_from_this()](const boost::system::error_code& error) {
                      if (!error) self->OnEnded();
                    });
}

void WorkerProcess::Turn() {
  auto more = link_->Pump();
  observer_->OnWorkerTurn();
  if (!more) return Lose(RunReason::kCrashed, more.error().message());
  if (!announced_ && link_->ready()) {
    announced_ = true;
    observer_->OnWorkerReady(*this);
  }
  if (*more) RequestTurn();
}

bool WorkerProcess::Watch(std::int64_t time_ns) {
  if (lost_ || !link_->Watch(time_ns)) return false;
  Turn();
  return true;
}

void WorkerProcess::RequestTurn() {
  if (turn_requested_ || lost_) return;
  turn_requested_ = true;
  asio::post(context_, [self = shared_from_this()] {
    self->turn_requested_ = false;
    if (!self->lost_) self->Turn();
  });
}

void WorkerProcess::OnEnded() {
  if (reaped_) return;
  reaped_ = true;
  const WorkerExit exit = handle_->Reap();
  if (lost_) return;
  // Messages sent before it died still count: the end of a run may be among them.
  Result<bool> more = true;
  for (std::size_t read = 0; more && *more && read < wire::kRingBytes; read += 4096) {
    more = link_->Pump();
  }
  Lose(exit.denied_syscall ? RunReason::kDeniedSyscall : RunReason::kCrashed, Describe(exit));
}

void WorkerProcess::Check(SteadyTime now) {
  if (lost_) return;
  if (!link_->ready()) {
    if (now >= ready_by_) Lose(RunReason::kCrashed, "it was not ready in time");
    return;
  }
  const auto why = link_->Stuck(now);
  // Checked twice, with a turn between: if our own thread was delayed, the answers may be in the
  // ring.
  if (why && std::exchange(suspect_, true)) return Lose(RunReason::kCrashed, "it hangs: " + *why);
  suspect_ = why.has_value();
  if (suspect_) RequestTurn();
}

void WorkerProcess::Lose(RunReason reason, std::string why) {
  if (std::exchange(lost_, true)) return;
  const auto self = shared_from_this();
  handle_->Kill();
  boost::system::error_code ignored;
  notify_.close(ignored);
  link_->LoseAll(reason, why);
  if (std::string tail = ReadLogTail(log_); !tail.empty()) why += "; its log ends with: " + tail;
  observer_->OnWorkerLost(*this, why);
}

void WorkerProcess::Stop() {
  lost_ = true;
  boost::system::error_code ignored;
  notify_.close(ignored);
  ended_.close(ignored);
  link_->LoseAll(RunReason::kKilled, "the engine was shut down");
  handle_.reset();
}

}  // namespace caisson
