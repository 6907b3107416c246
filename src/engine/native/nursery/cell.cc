#include "engine/native/nursery/cell.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "engine/native/nursery/image.h"
#include "engine/native/nursery/input_files.h"
#include "engine/native/nursery/kernel_state.h"
#include "engine/native/nursery/library.h"
#include "engine/native/nursery/raw_frames.h"
#include "engine/native/nursery/rehearsal.h"
#include "engine/native/nursery/survey.h"
#include "engine/native/nursery/transplant.h"
#include "guest/native/forked.h"
#include "jail/become.h"
#include "jail/walls.h"

namespace caisson::nursery {
namespace {

constexpr int kSocket = 3;
// Of one scratch file.
constexpr std::uint64_t kScratchFileBytes = 32 << 20;

Result<void> Place(const UniqueFd& fd, int number) {
  if (::dup2(fd.get(), number) < 0) return Error::FromErrno(errno, "place a descriptor");
  return {};
}

// Signals as a program finds them when it starts, except two that would kill code where Python raises:
// writing to a pipe nobody reads, writing a file beyond its limit.
void ResetSignals() {
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
}

// The header of the first run, which stays in the socket with the rest for the interpreter to read.
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

void Cell::Live() {
  const Result<void> prepared = Prepare();
  if (!prepared) {
    // If this does not reach the host either, the end of this process does.
    static_cast<void>(nursery_.control.SendNews(wire::FromNursery::kFailed, request_.cell,
                                                prepared.error().message(), {}));
    ::_exit(EXIT_FAILURE);
  }
  if (!CloseAllElse()) ::_exit(EXIT_FAILURE);
  if (nursery_.runner != nullptr) HandOver();
  if (!nursery_.last_filter.Load()) ::_exit(EXIT_FAILURE);
  Serve();
}

Result<void> Cell::Prepare() {
  ResetSignals();
  TRY(jail::SetProcessName("caisson-cell"));
  // A process group of its own: kill(0, ...) reaches a whole group, over the borders of pid namespaces.
  if (::setsid() < 0) return Error::FromErrno(errno, "start a session");
  TRY(EnterGroups());
  if (nursery_.berth == nullptr) TRY(Settle());
  TRY(OpenStreams());
  if (!mounts_.empty()) TRY(ShowMounts());
  TRY(WarmUp());
  TRY(Confine());
  return Announce();
}

Result<void> Cell::Settle() {
  TRY(nursery_.enclosure.Settle(PrivateFilesOfCell(),
                                std::max(request_.total_file_bytes, kScratchTotalBytes),
                                std::max(request_.files, kScratchInodes)));
  if (nursery_.enclosure.tier() != jail::Tier::kNamespace) return {};
  files_ = UniqueFd(::open(kFilesRoot, O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!files_.is_open()) return Error::FromErrno(errno, "open the private files");
  return {};
}

Result<void> Cell::Confine() const {
  if (nursery_.berth != nullptr) return nursery_.berth->Confine();
  return nursery_.enclosure.Confine(
      {.paths = Rules(), .tasks = request_.processes == 1 ? kThreads : request_.processes});
}

Result<void> Cell::EnterGroups() const {
  for (const UniqueFd& group : groups_) {
    if (::write(group.get(), "0", 1) != 1) return Error::FromErrno(errno, "enter a cgroup");
  }
  return {};
}

Result<void> Cell::OpenStreams() {
  // The nursery's own would be one open file for all cells: its flags and locks would outlive this one.
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
  if (nursery_.enclosure.tier() != jail::Tier::kNamespace) return {};
  if (::chdir("/output") != 0) return Error::FromErrno(errno, "go to /output");
  return {};
}

Result<void> Cell::ShowMounts() {
  if (nursery_.enclosure.tier() != jail::Tier::kNamespace) {
    return Error(ErrorCode::kInvalidArgument, "mounts without a mount namespace");
  }
  TRY_ASSIGN(layers_, jail::AttachTrees(mounts_, kFilesRoot));
  if (::chdir("/output") != 0) return Error::FromErrno(errno, "go to /output");
  // The host takes every file that is stamped later than this cell was asked for as changed during the run.
  if (!layers_.empty()) jail::AwaitNextTick();
  return {};
}

std::vector<jail::PathRule> Cell::Rules() const {
  std::vector<jail::PathRule> rules = nursery_.rules;
  for (const jail::Attachment& mount : mounts_) {
    if (mount.writable) rules.push_back({mount.path, jail::PathRule::Access::kKeep});
  }
  return rules;
}

Result<void> Cell::WarmUp() {
  if (nursery_.runner != nullptr) return {};
  if (caisson_reseed() != 0) return Error(ErrorCode::kInternal, "a cell without chance of its own");
  if (request_.kind != wire::ToNursery::kMake) return {};
  caisson_touch_pools();
  TRY(Rehearse(holder_));
  return Rehearse(holder_);  // The first leaves the heap otherwise than it found it.
}

// Not before the host has heard that this cell exists: a byte from the nursery says so.
Result<void> Cell::Announce() {
  char go = 0;
  ssize_t got = 0;
  do {
    got = ::read(socket_.cell.get(), &go, 1);
  } while (got < 0 && errno == EINTR);
  if (got != 1) return Error::FromErrno(errno, "wait for the nursery");
  std::vector<int> descriptors = {socket_.host.get(), stdout_.get(), stderr_.get()};
  const UniqueFd& files = nursery_.berth != nullptr ? nursery_.berth->files() : files_;
  if (files.is_open()) descriptors.push_back(files.get());
  for (const UniqueFd& layer : layers_) descriptors.push_back(layer.get());
  return nursery_.control.SendNews(wire::FromNursery::kPrepared, request_.cell, {}, descriptors);
}

// The control socket, whose number the cell's own takes over, and whatever else the nursery holds.
Result<void> Cell::CloseAllElse() {
  if (nursery_.runner != nullptr) {
    return nursery_.runner->PlaceDescriptors(socket_.cell.get(), kSocket);
  }
  TRY(Place(socket_.cell, kSocket));
  if (::close_range(kSocket + 1, ~0U, 0) != 0) return Error::FromErrno(errno, "close descriptors");
  return {};
}

void Cell::Serve() {
  SetHolder(holder_);
  CatchAborts();
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

void Cell::Run() {
  const wire::StartHeader start = holder_.AwaitStart();
  Result<void> ready = Tighten(start);
  if (ready) ready = WriteInputFiles(holder_.files());
  if (!ready) {
    holder_.Refuse(ready.error().message());
    ::_exit(EXIT_FAILURE);
  }
  // A cell that is not kept is killed by the host. Exiting here would keep the core it shares with the
  // host busy with freeing memory before the host could hear of the end.
  if (!holder_.Run()) ::_exit(EXIT_FAILURE);
}

void Cell::Save() {
  if (nursery_.stem == nullptr) return holder_.Refuse("cells cannot be copied here");
  Scratch& scratch = nursery_.stem->scratch();
  ProbeOpenFiles(scratch);
  // Now the host looks at this process. Nothing of its memory may change before the image is sent, except for the stack
  // below here.
  RawWriter(scratch, kSocket, wire::ToHost{wire::kAskSurvey}, RawWriter::Mode::kSend).End();
  RawReader reader(scratch, holder_.stream());
  std::size_t size = 0;
  if (!reader.ReadRest(scratch.survey.data(), scratch.survey.size(), size)) std::abort();
  if (size == 0) return nursery_.stem->Sweep();
  const std::optional<Survey> survey = Survey::Of({scratch.survey.data(), size});
  if (!survey) std::abort();
  const Result<Self> self = SendImage(*nursery_.stem, *survey, kSocket, holder_.save().max_bytes);
  const bool is_branch = self && *self == Self::kBranch;
  if (is_branch) {
    if (const Result<void> applied = ApplyKernelState(scratch); !applied) {
      RefuseAndExit(kSocket, applied.error().message());
    }
  }
  nursery_.stem->Sweep();
  if (is_branch) holder_.SayRestored();
  if (!self) holder_.Refuse(self.error().message());
}

// Its limits are in force before any byte is looked at that another cell has written.
void Cell::Restore() {
  if (nursery_.stem == nullptr) RefuseAndExit(kSocket, "cells cannot be copied here");
  RawReader reader(nursery_.stem->scratch(), holder_.stream());
  wire::StartHeader start{};
  if (!reader.Take(start) || !reader.Skip(start.request_length)) std::abort();
  if (const Result<void> ready = Tighten(start); !ready) {
    RefuseAndExit(kSocket, ready.error().message());
  }
  Become(*nursery_.stem, reader, kSocket);
}

// A foreign interpreter comes up with the limits of its run in force and the last filter loaded, so that nothing
// of either is left to it.
void Cell::HandOver() {
  const std::optional<wire::StartHeader> start = PeekStart(kSocket);
  if (!start) ::_exit(EXIT_SUCCESS);  // The host has changed its mind, or is gone.
  Result<void> ready = Tighten(*start);
  if (ready) ready = nursery_.last_filter.Load();
  if (ready) ready = nursery_.runner->Become();
  holder_.Connect(kSocket);
  holder_.Refuse(ready.error().message());
  ::_exit(EXIT_FAILURE);
}

// The run's memory comes on top of what the interpreter holds. Limits only ever get lower, so a session keeps the lowest
// that any of its runs had.
Result<void> Cell::Tighten(const wire::StartHeader& start) const {
  if ((start.flags & wire::kVirtualTime) != 0) {
    return Error(ErrorCode::kFailedPrecondition,
                 "engine native has real time and real randomness only");
  }
  TRY(jail::LowerLimit({RLIMIT_AS, nursery_.address_space_bytes + start.memory_bytes}));
  // Besides what every cell has open. Below the number that a successor has (jail/become.h).
  TRY(jail::LowerLimit(
      {RLIMIT_NOFILE,
       std::min<std::uint64_t>(std::uint64_t{start.open_files} + kSocket + 1, jail::kSuccessor)}));
  TRY(jail::LowerLimit({RLIMIT_FSIZE, std::max(start.file_bytes, kScratchFileBytes)}));
  // A session's runs share one account of CPU time; the host watches each.
  if ((start.flags & wire::kKeepCell) != 0) return {};
  return jail::LowerLimit({RLIMIT_CPU, start.cpu_ns / 1'000'000'000 + 2});
}

}  // namespace caisson::nursery
