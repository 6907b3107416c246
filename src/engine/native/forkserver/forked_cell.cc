#include "engine/native/forkserver/forked_cell.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "engine/native/forkserver/guest_paths.h"
#include "engine/native/forkserver/image.h"
#include "engine/native/forkserver/input_files.h"
#include "engine/native/forkserver/kernel_state.h"
#include "engine/native/forkserver/library.h"
#include "engine/native/forkserver/process_map_reader.h"
#include "engine/native/forkserver/raw_frames.h"
#include "engine/native/forkserver/rehearsal.h"
#include "engine/native/forkserver/transplant.h"
#include "guest/native/forked.h"
#include "jail/become.h"
#include "jail/walls.h"

namespace caisson::forkserver {
namespace {

constexpr int kSocket = 3;
// Maximum size of one scratch file.
constexpr std::uint64_t kScratchFileBytes = 32 << 20;

UniqueFd OpenDirectory(const UniqueFd& parent, const char* name) {
  return UniqueFd(::openat(parent.get(), name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

Result<void> Place(const UniqueFd& fd, int number) {
  if (::dup2(fd.get(), number) < 0) return Error::FromErrno(errno, "place a descriptor");
  return {};
}

// Sets signals as a program finds them when it starts, except two that would kill code where Python
// raises: writing to a pipe that nobody reads, and writing a file beyond its limit.
void ResetSignals() {
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
}

// Reads the header of the first run without removing it: the interpreter reads it with the rest of
// the message.
std::optional<wire::StartHeader> PeekStart(int socket) {
  std::array<char, sizeof(wire::StreamFrame) + sizeof(wire::StartHeader)> bytes{};
  ssize_t got = 0;
  do {
    got = ::recv(socket, bytes.data(), bytes.size(), MSG_PEEK);
  } while (got < 0 && errno == EINTR);
  wire::StreamFrame frame{};
  wire::StartHeader start{};
  std::memcpy(&frame, bytes.data(), sizeof frame);
  std::memcpy(&start, bytes.data() + sizeof frame, sizeof start);
  // The host sends both in one piece.
  const bool is_start = got == static_cast<ssize_t>(bytes.size()) &&
                        frame.kind == static_cast<std::uint16_t>(wire::ToWorker::kStart);
  return is_start ? std::optional(start) : std::nullopt;
}

}  // namespace

jail::PrivateFiles PrivateFilesOfCell() {
  jail::PrivateFiles files{.mount_point = kFilesRoot};
  files.directories.assign(std::begin(kPrivateDirectories), std::end(kPrivateDirectories));
  return files;
}

void ForkedCell::Live() {
  const Result<void> prepared = Prepare();
  if (!prepared) {
    // If this does not reach the host either, the end of this process does.
    static_cast<void>(fork_server_.control.SendNews(wire::FromForkServer::kFailed, request_.cell,
                                                    prepared.error().message(), {}));
    ::_exit(EXIT_FAILURE);
  }
  if (!CloseAllElse()) ::_exit(EXIT_FAILURE);
  if (fork_server_.runner != nullptr) HandOver();
  if (!fork_server_.last_filter.Load()) ::_exit(EXIT_FAILURE);
  Serve();
}

Result<void> ForkedCell::Prepare() {
  ResetSignals();
  TRY(jail::SetProcessName("caisson-cell"));
  // A separate process group: kill(0, ...) reaches a whole group, across pid namespaces.
  if (::setsid() < 0) return Error::FromErrno(errno, "start a session");
  TRY(EnterGroups());
  if (fork_server_.slot == nullptr) TRY(Settle());
  TRY(OpenStreams());
  if (!mounts_.empty()) TRY(ShowMounts());
  TRY(WarmUp());
  TRY(Confine());
  return Announce();
}

Result<void> ForkedCell::Settle() {
  TRY(fork_server_.enclosure.Settle(PrivateFilesOfCell(),
                                    std::max(request_.total_file_bytes, kScratchTotalBytes),
                                    std::max(request_.files, kScratchInodes)));
  if (fork_server_.scratch != nullptr) return MakeDirectory();
  if (fork_server_.enclosure.tier() != jail::Tier::kNamespace) return {};
  files_ = UniqueFd(::open(kFilesRoot, O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!files_.is_open()) return Error::FromErrno(errno, "open the private files");
  return {};
}

// The host removes it when this process is dead.
Result<void> ForkedCell::MakeDirectory() {
  // No two live processes have the same pid.
  const std::string name = std::to_string(::getpid()) + "-" + std::to_string(request_.cell);
  if (::mkdirat(fork_server_.scratch->get(), name.c_str(), 0700) != 0) {
    return Error::FromErrno(errno, "make a directory for the cell's files");
  }
  files_ = OpenDirectory(*fork_server_.scratch, name.c_str());
  for (const char* directory : kPrivateDirectories) {
    if (::mkdirat(files_.get(), directory, 0700) != 0) {
      return Error::FromErrno(errno, std::string("make /") + directory);
    }
    shown_.push_back({std::string("/") + directory, OpenDirectory(files_, directory)});
    if (!shown_.back().directory.is_open()) {
      return Error::FromErrno(errno, std::string("open /") + directory);
    }
  }
  return {};
}

Result<void> ForkedCell::Confine() {
  if (fork_server_.slot != nullptr) {
    TRY(fork_server_.slot->Confine());
  } else {
    TRY(fork_server_.enclosure.Confine(
        {.paths = Rules(), .tasks = request_.processes == 1 ? kThreads : request_.processes}));
  }
  if (fork_server_.questions == nullptr) return {};
  TRY_ASSIGN(listener_, fork_server_.questions->LoadListening());
  return {};
}

Result<void> ForkedCell::EnterGroups() const {
  for (const UniqueFd& group : groups_) {
    if (::write(group.get(), "0", 1) != 1) return Error::FromErrno(errno, "enter a cgroup");
  }
  return {};
}

Result<void> ForkedCell::OpenStreams() {
  // The fork server's own descriptor would be one open file for all cells: its flags and locks
  // would survive this cell.
  UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!nothing.is_open()) return Error::FromErrno(errno, "open /dev/null");
  TRY(Place(nothing, STDIN_FILENO));
  for (const auto& [number, read_end] :
       {std::pair(STDOUT_FILENO, &stdout_), {STDERR_FILENO, &stderr_}}) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return Error::FromErrno(errno, "pipe for a stream");
    *read_end = UniqueFd(ends[0]);
    TRY(Place(UniqueFd(ends[1]), number));
  }
  if (fork_server_.scratch != nullptr) {
    const UniqueFd output = OpenDirectory(files_, "output");
    if (::fchdir(output.get()) != 0) return Error::FromErrno(errno, "go to /output");
    return {};
  }
  if (fork_server_.enclosure.tier() != jail::Tier::kNamespace) return {};
  if (::chdir("/output") != 0) return Error::FromErrno(errno, "go to /output");
  return {};
}

Result<void> ForkedCell::ShowMounts() {
  if (fork_server_.scratch != nullptr) {
    for (const jail::Attachment& mount : mounts_) {
      UniqueFd directory(::fcntl(mount.tree.get(), F_DUPFD_CLOEXEC, 0));
      if (!directory.is_open()) return Error::FromErrno(errno, "show " + mount.path);
      shown_.insert(shown_.begin(), {mount.path, std::move(directory)});  // Before /input itself.
    }
    return {};
  }
  if (fork_server_.enclosure.tier() != jail::Tier::kNamespace) {
    return Error(ErrorCode::kInvalidArgument, "mounts without a mount namespace");
  }
  TRY_ASSIGN(layers_, jail::AttachTrees(mounts_, kFilesRoot));
  if (::chdir("/output") != 0) return Error::FromErrno(errno, "go to /output");
  // The host treats every file with a later time stamp than the request for this cell as changed
  // during the run.
  if (!layers_.empty()) jail::AwaitNextTick();
  return {};
}

std::vector<jail::PathRule> ForkedCell::Rules() const {
  std::vector<jail::PathRule> rules = fork_server_.rules;
  if (fork_server_.scratch != nullptr) {
    using Access = jail::PathRule::Access;
    rules.push_back({.path = "the cell's files", .access = Access::kChange, .directory = &files_});
    for (const jail::Attachment& mount : mounts_) {
      rules.push_back({.path = mount.path, .access = Access::kRead, .directory = &mount.tree});
    }
    return rules;
  }
  for (const jail::Attachment& mount : mounts_) {
    if (mount.writable) rules.push_back({mount.path, jail::PathRule::Access::kKeep});
  }
  return rules;
}

Result<void> ForkedCell::WarmUp() {
  if (fork_server_.runner != nullptr) {
    TRY_ASSIGN(judge_, fork_server_.judge->Start(fork_server_.enclosure));
    return {};
  }
  if (caisson_reseed() != 0)
    return Error(ErrorCode::kInternal, "the cell cannot seed its random numbers");
  if (request_.kind != wire::ToForkServer::kMake) return {};
  caisson_touch_pools();
  TRY(Rehearse(holder_));
  return Rehearse(holder_);  // The first rehearsal changes the layout of the heap.
}

// Waits until the host knows that this cell exists: a byte from the fork server says so.
Result<void> ForkedCell::Announce() {
  char go = 0;
  ssize_t got = 0;
  do {
    got = ::read(socket_.cell.get(), &go, 1);
  } while (got < 0 && errno == EINTR);
  if (got != 1) return Error::FromErrno(errno, "wait for the fork server");
  std::vector<int> descriptors = {socket_.host.get(), stdout_.get(), stderr_.get()};
  const UniqueFd& files = fork_server_.slot != nullptr ? fork_server_.slot->files() : files_;
  if (files.is_open()) descriptors.push_back(files.get());
  for (const UniqueFd& layer : layers_) descriptors.push_back(layer.get());
  if (listener_.is_open()) descriptors.push_back(listener_.get());
  return fork_server_.control.SendNews(wire::FromForkServer::kPrepared, request_.cell, {},
                                       descriptors);
}

// Closes the control socket, whose number the cell's own socket takes over, and everything else
// that the fork server holds.
Result<void> ForkedCell::CloseAllElse() {
  if (fork_server_.runner != nullptr) {
    return fork_server_.runner->PlaceDescriptors(socket_.cell.get(), kSocket, judge_.get());
  }
  TRY(Place(socket_.cell, kSocket));
  TRY(ShowOwnFiles());
  const auto first = static_cast<unsigned>(kSocket + 1) + static_cast<unsigned>(shown_.size());
  if (::close_range(first, ~0U, 0) != 0) return Error::FromErrno(errno, "close descriptors");
  return {};
}

// The directories keep the numbers after the socket's.
Result<void> ForkedCell::ShowOwnFiles() {
  if (shown_.empty()) return {};
  constexpr int kAside = 512;  // Above all numbers that are used from now on.
  std::vector<GuestPath> paths;
  for (Shown& shown : shown_) {
    std::array<char, PATH_MAX> host{};
    const std::string link = "/proc/self/fd/" + std::to_string(shown.directory.get());
    // Without it, getcwd() returns the host's path.
    static_cast<void>(!::readlink(link.c_str(), host.data(), host.size() - 1));
    shown.directory = UniqueFd(::fcntl(shown.directory.get(), F_DUPFD, kAside));
    if (!shown.directory.is_open()) return Error::FromErrno(errno, "set a directory aside");
    paths.push_back({.guest = shown.guest, .host = host.data()});
  }
  for (std::size_t i = 0; i < shown_.size(); ++i) {
    paths[i].directory = kSocket + 1 + static_cast<int>(i);
    TRY(Place(shown_[i].directory, paths[i].directory));
  }
  ShowPaths(std::move(paths));
  return {};
}

void ForkedCell::Serve() {
  SetHolder(holder_);
  CatchFaults();
  holder_.Connect(kSocket);
  while (true) {
    switch (holder_.AwaitOrder()) {
      case Holder::Order::kRun:
        Run();
        break;
      case Holder::Order::kSave:
        Save();
        break;
      case Holder::Order::kRestore:
        Restore();
    }
  }
}

void ForkedCell::Run() {
  const wire::StartHeader start = holder_.AwaitStart();
  Result<void> ready = Tighten(start);
  if (ready) ready = WriteInputFiles(holder_.files());
  if (!ready) {
    holder_.Refuse(ready.error().message());
    ::_exit(EXIT_FAILURE);
  }
  // The host kills a cell that is not kept. Exiting here would keep the core that it shares with
  // the host busy with freeing memory before the host could learn of the end.
  if (!holder_.Run()) ::_exit(EXIT_FAILURE);
}

void ForkedCell::Save() {
  if (fork_server_.baseline == nullptr) return holder_.Refuse("cells cannot be copied here");
  Scratch& scratch = fork_server_.baseline->scratch();
  ProbeOpenFiles(scratch);
  // Now the host examines this process. Its memory must not change before the image is sent, except
  // for the stack below this frame.
  RawWriter(scratch, kSocket, wire::ToHost{wire::kAskProcessMap}, RawWriter::Mode::kSend).End();
  RawReader reader(scratch, holder_.stream());
  std::size_t size = 0;
  if (!reader.ReadRest(scratch.process_map.data(), scratch.process_map.size(), size)) std::abort();
  if (size == 0) return fork_server_.baseline->Sweep();
  const std::optional<ProcessMapReader> process_map =
      ProcessMapReader::Of({scratch.process_map.data(), size});
  if (!process_map) std::abort();
  const Result<Self> self =
      SendImage(*fork_server_.baseline, *process_map, kSocket, holder_.save().max_bytes);
  const bool is_branch = self && *self == Self::kBranch;
  if (is_branch) {
    if (const Result<void> applied = ApplyKernelState(scratch); !applied) {
      RefuseAndExit(kSocket, applied.error().message());
    }
  }
  fork_server_.baseline->Sweep();
  if (is_branch) holder_.SayRestored();
  if (!self) holder_.Refuse(self.error().message());
}

// Its limits are in force before any byte is read that another cell has written.
void ForkedCell::Restore() {
  if (fork_server_.baseline == nullptr) RefuseAndExit(kSocket, "cells cannot be copied here");
  RawReader reader(fork_server_.baseline->scratch(), holder_.stream());
  wire::StartHeader start{};
  if (!reader.Take(start) || !reader.Skip(start.request_length)) std::abort();
  if (const Result<void> ready = Tighten(start); !ready) {
    RefuseAndExit(kSocket, ready.error().message());
  }
  Become(*fork_server_.baseline, reader, kSocket);
}

// A foreign interpreter starts with the limits of its run in force and the last filter loaded, so
// that it has no part in either.
void ForkedCell::HandOver() {
  const std::optional<wire::StartHeader> start = PeekStart(kSocket);
  if (!start) ::_exit(EXIT_SUCCESS);  // The host has cancelled the request, or is gone.
  Result<void> ready = Tighten(*start);
  if (ready) ready = fork_server_.last_filter.Load();
  if (ready) ready = fork_server_.runner->Become();
  holder_.Connect(kSocket);
  holder_.Refuse(ready.error().message());
  ::_exit(EXIT_FAILURE);
}

// The run's memory is added to what the interpreter uses. Limits can only be lowered, so a session
// keeps the lowest that any of its runs had.
Result<void> ForkedCell::Tighten(const wire::StartHeader& start) const {
  if ((start.flags & wire::kRecorded) != 0) {
    return Error(ErrorCode::kFailedPrecondition,
                 "engine native has real time and real randomness only");
  }
  TRY(jail::LowerLimit({RLIMIT_AS, fork_server_.address_space_bytes + start.memory_bytes}));
  // In addition to the descriptors that every cell has open. Below the number that a successor has
  // (jail/become.h).
  TRY(jail::LowerLimit({RLIMIT_NOFILE, std::min<std::uint64_t>(std::uint64_t{start.open_files} +
                                                                   kSocket + 1 + shown_.size(),
                                                               jail::kSuccessor)}));
  TRY(jail::LowerLimit({RLIMIT_FSIZE, std::max(start.file_bytes, kScratchFileBytes)}));
  // The runs of a session share one account of CPU time; the host limits each.
  if ((start.flags & wire::kKeepCell) != 0) return {};
  return jail::LowerLimit({RLIMIT_CPU, start.cpu_ns / 1'000'000'000 + 2});
}

}  // namespace caisson::forkserver
