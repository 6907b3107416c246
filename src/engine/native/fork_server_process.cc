#include "engine/native/fork_server_process.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <span>
#include <string_view>
#include <utility>

#include "base/packet.h"
#include "engine/host/log_tail.h"

namespace caisson {
namespace {

constexpr int kPacketsPerTurn = 64;
// Maximum time from the kill of a cell to the report that its tree is reaped; milliseconds, unless
// something hangs.
constexpr std::chrono::seconds kReapTime{10};
constexpr std::chrono::seconds kMakeTime{20};
// Longer than a person needs who stops processes one by one to inspect them.
constexpr std::chrono::seconds kStoppedTime{1};

using NotMade = ForkServerObserver::NotMade;

Error Violation(const char* what) {
  return Error(ErrorCode::kInternal, std::string("the fork server broke the protocol: ") + what);
}

Result<void> Assign(asio::posix::stream_descriptor& descriptor, UniqueFd fd) {
  boost::system::error_code error;
  descriptor.assign(fd.get(), error);
  if (error) return Error(ErrorCode::kInternal, "watch a fork server: " + error.message());
  (void)fd.Release();  // Asio closes it.
  return {};
}

std::string Describe(const ForkServerExit& exit) {
  if (exit.signal != 0) return "it was killed by signal " + std::to_string(exit.signal);
  return "it exited with status " + std::to_string(exit.status);
}

std::uint64_t NextNumber() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

template <typename T>
std::string_view AsBytes(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

// Returns false if it does not fit into the socket's queue.
bool SendMake(int socket, wire::ToForkServer how, std::uint64_t number, const CellVariety& variety,
              const std::vector<UniqueFd>& groups) {
  const auto points = variety.mounts ? variety.mounts->points() : std::span<const MountPoint>();
  const wire::MakeCell make{.kind = how,
                            .processes = variety.processes,
                            .cell = number,
                            .total_file_bytes = variety.file_bytes,
                            .files = variety.files,
                            .mounts = static_cast<std::uint16_t>(points.size()),
                            .groups = static_cast<std::uint16_t>(groups.size())};
  std::string packet(AsBytes(make));
  for (const MountPoint& point : points) {
    const wire::MakeMount mount{
        .writable = point.mode == MountMode::kReadOnly ? 0u : 1u,
        .path_length = static_cast<std::uint32_t>(point.guest_path.size()),
        .layer_bytes = point.write_bytes_limit != 0 ? point.write_bytes_limit : variety.file_bytes};
    packet.append(AsBytes(mount)).append(point.guest_path);
  }
  std::vector<int> descriptors;
  for (const UniqueFd& group : groups) descriptors.push_back(group.get());
  for (std::size_t i = 0; i < points.size(); ++i) {
    descriptors.push_back(variety.mounts->trees()[i].get());
  }
  return SendPacket(socket, packet, {}, descriptors, MSG_DONTWAIT) == 0;
}

}  // namespace

Result<std::shared_ptr<ForkServerProcess>> ForkServerProcess::Start(asio::io_context& context,
                                                                    ForkServerLauncher& launcher,
                                                                    const Options& options,
                                                                    ForkServerObserver& observer) {
  std::array<int, 2> pair{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair.data()) != 0) {
    return Error::FromErrno(errno, "create a fork server's control socket");
  }
  UniqueFd control(pair[0]);
  const UniqueFd control_end(pair[1]);
  // Only our end is non-blocking, not the fork server's.
  ::fcntl(control_end.get(), F_SETFL, ::fcntl(control_end.get(), F_GETFL) & ~O_NONBLOCK);
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    return Error::FromErrno(errno, "create a fork server's log");
  }
  UniqueFd log(pipe[0]);
  const UniqueFd log_end(pipe[1]);
  auto handle = launcher.Launch(
      {.kind = options.kind, .control = control_end, .log = log_end, .cpu = options.cpu});
  if (!handle) return std::move(handle).error().Context("start a fork server");
  std::shared_ptr<ForkServerProcess> fork_server(
      new ForkServerProcess(context, std::move(log), options, observer));
  TRY(fork_server->Watch(std::move(control), *std::move(handle)));
  return fork_server;
}

ForkServerProcess::ForkServerProcess(asio::io_context& context, UniqueFd log,
                                     const Options& options, ForkServerObserver& observer)
    : context_(context),
      observer_(&observer),
      log_(std::move(log)),
      ready_by_(std::chrono::steady_clock::now() + options.ready_within),
      cgroups_(options.cgroups),
      parent_{.lane = options.lane,
              .number = NextNumber(),
              .copied_within = options.copied_within,
              .scratch = options.kind.is_foreign ? nullptr : options.scratch,
              .pipes = options.pipes},
      boundary_{.engine = "native", .tier = options.tier, .missing = {}},
      control_(context),
      ended_(context) {}

ForkServerProcess::~ForkServerProcess() {
  Stop();
}

Result<void> ForkServerProcess::Watch(UniqueFd control, std::unique_ptr<ForkServerHandle> handle) {
  handle_ = std::move(handle);
  UniqueFd ended(::fcntl(handle_->ended().get(), F_DUPFD_CLOEXEC, 0));
  if (!ended.is_open()) return Error::FromErrno(errno, "duplicate a fork server's descriptor");
  TRY(Assign(control_, std::move(control)));
  TRY(Assign(ended_, std::move(ended)));
  AwaitControl();
  AwaitEnd();
  return {};
}

void ForkServerProcess::AwaitControl() {
  control_.async_wait(asio::posix::stream_descriptor::wait_read,
                      [self = shared_from_this()](const boost::system::error_code& error) {
                        if (error || self->lost_) return;
                        if (self->ReadControl() && !self->lost_) self->AwaitControl();
                      });
}

void ForkServerProcess::AwaitEnd() {
  ended_.async_wait(asio::posix::stream_descriptor::wait_read,
                    [self = shared_from_this()](const boost::system::error_code& error) {
                      if (!error) self->OnEnded();
                    });
}

// Returns false if no more packets will come.
bool ForkServerProcess::ReadControl() {
  for (int packets = 0; packets < kPacketsPerTurn && !lost_; ++packets) {
    auto packet = ReceiveControl(control_.native_handle());
    if (!packet) {
      // A closed socket means that the process has ended, and its exit tells more.
      if (packet.error().code() == ErrorCode::kUnavailable) return false;
      Lose(RunReason::kLost, packet.error().message());
      return false;
    }
    if (!packet->has_value()) return true;
    auto good = std::visit([this](auto&& news) { return Handle(std::move(news)); }, **packet);
    if (!good) {
      Lose(RunReason::kLost, good.error().message());
      return false;
    }
  }
  return true;
}

Result<void> ForkServerProcess::Handle(ForkServerIsReady ready) {
  if (ready_) return Violation("ready twice");
  ready_ = true;
  ready_at_ = std::chrono::steady_clock::now();
  boundary_.missing = std::move(ready.missing);
  parent_.copies = ready.copies;
  if (parent_.scratch != nullptr && !parent_.scratch->is_noexec()) {
    boundary_.missing.emplace_back("noexec_files");
  }
  // Memory is then bounded by rlimits, per process; outcomes report that.
  if (!cgroups_) boundary_.missing.emplace_back("cgroup");
  observer_->OnForkServerReady(*this);
  return {};
}

Result<ForkServerProcess::Cells::iterator> ForkServerProcess::Find(std::uint64_t cell) {
  const auto found = cells_.find(cell);
  if (found == cells_.end()) return Violation("a cell that is not there");
  return found;
}

Result<void> ForkServerProcess::Handle(CellIsBorn born) {
  TRY_ASSIGN(const auto cell, Find(born.cell));
  if (cell->second->born()) return Violation("a cell born twice");
  cell->second->OnBorn(std::move(born.pidfd));
  return {};
}

Result<void> ForkServerProcess::Handle(CellIsPrepared prepared) {
  TRY_ASSIGN(const auto found, Find(prepared.cell));
  const std::shared_ptr<CellProcess> cell = found->second;
  if (!cell->born() || cell->prepared() || cell->failed())
    return Violation("a cell prepared twice");
  auto take = [&](wire::CellDescriptor which) {
    const std::size_t index = std::to_underlying(which);
    return index < prepared.descriptors.size() ? std::move(prepared.descriptors[index])
                                               : UniqueFd();
  };
  const auto& mounts = cell->variety().mounts;
  const std::size_t layers = mounts ? mounts->writable() : 0;
  const std::size_t listener = wire::kCellDescriptors + layers;  // The index of the last.
  if (prepared.descriptors.size() > listener + 1 ||
      (layers > 0 && prepared.descriptors.size() < wire::kCellDescriptors + layers)) {
    return Violation("a cell without its descriptors");
  }
  std::vector<UniqueFd> layer_descriptors;
  for (std::size_t i = 0; i < layers; ++i) {
    layer_descriptors.push_back(std::move(prepared.descriptors[wire::kCellDescriptors + i]));
  }
  --making_;
  auto good = cell->OnPrepared({.socket = take(wire::CellDescriptor::kSocket),
                                .out = take(wire::CellDescriptor::kStdout),
                                .err = take(wire::CellDescriptor::kStderr),
                                .files = take(wire::CellDescriptor::kFiles),
                                .layers = std::move(layer_descriptors),
                                .listener = take(wire::CellDescriptor{listener})});
  if (!good) {
    cell->Kill();
    observer_->OnCellNotMade(*this, cell->variety(), NotMade::kDied, good.error().message());
    return {};
  }
  observer_->OnCellPrepared(*this, cell);
  return {};
}

Result<void> ForkServerProcess::Handle(CellFailed failed) {
  TRY_ASSIGN(const auto found, Find(failed.cell));
  const std::shared_ptr<CellProcess> cell = found->second;
  if (cell->prepared() || cell->failed()) return Violation("a cell failed late");
  --making_;
  cell->OnFailed();
  if (!cell->born()) cells_.erase(found);  // Otherwise its end is still to come.
  observer_->OnCellNotMade(*this, cell->variety(), NotMade::kRefused, failed.why);
  return {};
}

Result<void> ForkServerProcess::Handle(const wire::CellGone& gone) {
  TRY_ASSIGN(const auto found, Find(gone.cell));
  const std::shared_ptr<CellProcess> cell = found->second;
  if (!cell->born()) return Violation("the end of a cell that never was");
  cells_.erase(found);
  const bool unfinished = !cell->prepared() && !cell->failed();
  if (unfinished) --making_;
  cell->OnGone(gone);
  if (unfinished) {
    observer_->OnCellNotMade(*this, cell->variety(), NotMade::kDied, "it died while it was made");
  }
  observer_->OnCellGone(*this, *cell);
  return {};
}

void ForkServerProcess::Make(std::uint64_t number, const CellVariety& variety,
                             wire::ToForkServer how) {
  const auto cell = std::make_shared<CellProcess>(context_, number, variety, boundary_, parent_);
  cells_.emplace(number, cell);
  ++making_;
  ++made_;
  const std::vector<UniqueFd> groups = cgroups_ ? cell->MakeGroup() : std::vector<UniqueFd>();
  if (SendMake(control_.native_handle(), how, number, variety, groups)) return;
  // The queue holds hundreds of requests, far more than are ever pending, so the fork server does
  // not read.
  asio::post(context_, [self = shared_from_this()] {
    self->Lose(RunReason::kLost, "it does not read its messages");
  });
}

std::size_t ForkServerProcess::making(const CellVariety& variety) const {
  if (making_ == 0) return 0;
  return static_cast<std::size_t>(std::ranges::count_if(cells_, [&](const auto& item) {
    const CellProcess& cell = *item.second;
    return !cell.prepared() && !cell.failed() && cell.variety() == variety;
  }));
}

void ForkServerProcess::Check(SteadyTime now) {
  if (lost_) return;
  if (!ready_) {
    if (now >= ready_by_) Lose(RunReason::kLost, "it was not ready in time");
    return;
  }
  if (!handle_->stopped()) {
    stopped_since_.reset();
  } else if (now - stopped_since_.value_or(now) > kStoppedTime) {
    return Lose(RunReason::kLost, "a signal has stopped it");
  } else if (!stopped_since_) {
    stopped_since_ = now;
  }
  for (const auto& [number, cell] : cells_) {
    if (cell->killed_at() && now - *cell->killed_at() > kReapTime) {
      return Lose(RunReason::kLost, "it does not reap its cells");
    }
    if (!cell->prepared() && now - cell->asked_at() > kMakeTime) {
      return Lose(RunReason::kLost, "it does not make cells");
    }
  }
}

void ForkServerProcess::OnEnded() {
  if (std::exchange(reaped_, true)) return;
  const ForkServerExit exit = handle_->Reap();
  // Packets sent before it died still count.
  if (!lost_) ReadControl();
  Lose(RunReason::kLost, Describe(exit));
}

void ForkServerProcess::Lose(RunReason reason, std::string why) {
  if (std::exchange(lost_, true)) return;
  const auto self = shared_from_this();
  handle_->Kill();
  boost::system::error_code ignored;
  control_.close(ignored);
  LoseCells(reason, "the fork server was lost: " + why);
  if (std::string tail = ReadLogTail(log_); !tail.empty()) why += "; its log ends with: " + tail;
  observer_->OnForkServerLost(*this, why);
}

void ForkServerProcess::LoseCells(RunReason reason, const std::string& why) {
  making_ = 0;
  for (auto& [number, cell] : std::exchange(cells_, {})) {
    cell->Kill();
    cell->OnLost(reason, why);
  }
}

void ForkServerProcess::Stop() {
  lost_ = true;
  boost::system::error_code ignored;
  control_.close(ignored);
  ended_.close(ignored);
  LoseCells(RunReason::kKilled, "the engine was shut down");
  handle_.reset();
}

}  // namespace caisson
