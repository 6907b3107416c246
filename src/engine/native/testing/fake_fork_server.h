// A fork server that is a thread: speaks wire/fork_server_messages.h over a real control socket as
// the test tells it. Its cells are real processes that only wait to be killed; the thread sends
// their messages.
//
// Trust     Plays the hostile side.
// Threads   One thread per started fork server runs the script; everything else runs on the lane.
// Lifetime  Killing a fork server ends its processes and stops its thread the next time it waits.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "engine/native/fork_server_launcher.h"
#include "wire/fork_server_messages.h"
#include "wire/frames.h"
#include "wire/value.h"

namespace caisson::testing {

template <typename T>
std::string AsBytes(const T& pod) {
  return {reinterpret_cast<const char*>(&pod), sizeof pod};
}

inline std::string Encoded(const Value& value) {
  std::string out;
  (void)EncodeValue(value, out).has_value();
  return out;
}

// The behaviour of a cell's process. kSleepsWithThread: it has a second thread, which ends when the
// process gets SIGUSR1.
enum class Idleness { kSleeps, kSpins, kSleepsWithThread };

// The other end of a cell: its process, its socket, its pipes.
class FakeCell {
 public:
  FakeCell(const wire::MakeCell& make, Idleness idleness, const UniqueFd& files) : make_(make) {
    std::array<int, 2> pair{};
    Must(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()));
    socket = UniqueFd(pair[0]);
    host_ends_.emplace_back(pair[1]);
    for (UniqueFd* end : {&out, &err}) {
      Must(::pipe2(pair.data(), O_CLOEXEC));
      host_ends_.emplace_back(pair[0]);
      *end = UniqueFd(pair[1]);
    }
    if (files.is_open()) host_ends_.emplace_back(::dup(files.get()));
    std::array<int, 2> ready{};
    Must(::pipe2(ready.data(), O_CLOEXEC));
    const UniqueFd is_ready(ready[0]);
    UniqueFd says_ready(ready[1]);
    pid = ::fork();
    if (pid == 0) {
      ::signal(SIGSEGV, SIG_DFL);  // Sanitizers catch it.
      if (idleness == Idleness::kSleepsWithThread) StartThread();
      ::syscall(SYS_close_range, 3, ~0u, 0);
      for (;;) {
        if (idleness != Idleness::kSpins) ::pause();
      }
    }
    says_ready = UniqueFd();
    char none = 0;
    (void)!::read(is_ready.get(), &none, 1);  // Returns when the process has closed its end.
    pidfd = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  }
  ~FakeCell() {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
  FakeCell(const FakeCell&) = delete;
  FakeCell& operator=(const FakeCell&) = delete;

  std::uint64_t number() const { return make_.cell; }
  const wire::MakeCell& make() const { return make_; }
  std::vector<int> host_ends() const {
    std::vector<int> ends;
    for (const UniqueFd& end : host_ends_) ends.push_back(end.get());
    return ends;
  }
  void CloseHostEnds() { host_ends_.clear(); }

  void Write(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t n = ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
  }
  void SendFrame(std::uint16_t kind, std::uint16_t flags, std::string_view payload) const {
    const wire::StreamFrame frame{
        .length = static_cast<std::uint32_t>(payload.size()), .kind = kind, .flags = flags};
    Write(AsBytes(frame) + std::string(payload));
  }
  void Send(wire::ToHost kind, std::string_view message) const {
    do {
      const std::string_view part = message.substr(0, wire::kMaxFramePayload);
      message.remove_prefix(part.size());
      SendFrame(std::to_underlying(kind), message.empty() ? 0 : wire::kMoreFollows, part);
    } while (!message.empty());
  }
  void Done(const Value& report, wire::Ending ending = wire::Ending::kReported,
            std::uint32_t flags = 0) const {
    wire::DoneHeader header{};
    header.ending = ending;
    header.flags = flags;
    Send(wire::ToHost::kDone, AsBytes(header) + Encoded(report));
  }
  void Return(Value result, std::uint32_t flags = 0) const {
    Dict report;
    report.items.emplace_back(std::string("end"), std::string("returned"));
    report.items.emplace_back(std::string("result"), std::move(result));
    Done(report, wire::Ending::kReported, flags);
  }
  void Call(std::uint32_t seq, const std::string& tool) const {
    const wire::CallHeader header{.seq = seq, .trace_length = 0};
    Send(wire::ToHost::kCall,
         AsBytes(header) + Encoded(List{{Value(tool), Value(List{}), Value(Dict{})}}));
  }
  void Print(const UniqueFd& stream, std::string_view text) const {
    while (!text.empty()) {
      const ssize_t n = ::write(stream.get(), text.data(), text.size());
      if (n <= 0) return;
      text.remove_prefix(static_cast<std::size_t>(n));
    }
  }

  UniqueFd socket;
  UniqueFd out;
  UniqueFd err;
  UniqueFd pidfd;
  pid_t pid = -1;
  std::string unread;  // Frames of a message that is not complete.

 private:
  static void Must(int result) {
    if (result != 0) std::abort();
  }

  // Not pthread_create: this is the child of a process with threads.
  static void StartThread() {
    static sigset_t ends;
    ::sigemptyset(&ends);
    ::sigaddset(&ends, SIGUSR1);
    ::sigprocmask(SIG_BLOCK, &ends, nullptr);
    alignas(16) static std::array<char, 65536> stack;
    const auto wait = [](void*) { return ::sigwaitinfo(&ends, nullptr) > 0 ? 0 : 1; };
    const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD;
    if (::clone(wait, stack.data() + stack.size(), flags, nullptr) < 0) std::abort();
  }

  const wire::MakeCell make_;
  std::vector<UniqueFd> host_ends_;
};

struct CellMessage {
  wire::ToWorker kind{};
  std::string payload;

  wire::StartHeader Start() const {
    wire::StartHeader start{};
    std::memcpy(&start, payload.data(), sizeof start);
    return start;
  }
  std::string Code() const {
    const auto start = Start();
    auto request =
        DecodeValue(std::string_view(payload).substr(sizeof start, start.request_length));
    return request->If<Dict>()->Find("code")->If<Bytes>()->data;
  }
};

// The parts of a fork server's behaviour that a test can change.
struct ForkServerBehaviour {
  std::function<bool(class FakeForkServer&)> on_begin{};  // Returns true if it is ready.
  std::function<void(class FakeForkServer&, const wire::MakeCell&)>
      on_make{};  // Called instead of making it.
  std::function<void(class FakeForkServer&, FakeCell&, const CellMessage&)> on_message{};
  std::function<void(class FakeForkServer&, FakeCell&, wire::CellGone)>
      on_gone{};  // Called instead of reporting it.
  std::function<void(class FakeForkServer&, const FakeCell&)> after_prepared{};
  Idleness idleness = Idleness::kSleeps;
  std::string missing{};
  bool copies = false;  // It reports that its cells can be saved.
  std::string files{};  // A directory that every cell has as its private files.
};

class FakeForkServer {
 public:
  FakeForkServer(const UniqueFd& control, ForkServerBehaviour behaviour, int number)
      : control_(::fcntl(control.get(), F_DUPFD_CLOEXEC, 0)),
        stop_(::eventfd(0, EFD_CLOEXEC)),
        behaviour_(std::move(behaviour)),
        number_(number) {
    if (!behaviour_.files.empty()) {
      files_ = UniqueFd(::open(behaviour_.files.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    }
  }

  // How many fork servers were started before it.
  int number() const { return number_; }
  void Kill() {
    const std::uint64_t one = 1;
    (void)!::write(stop_.get(), &one, sizeof one);
  }
  // Ends the thread from within the script, as a crash would.
  void Die() { dead_ = true; }

  void SendPacket(std::string_view bytes, const std::vector<int>& descriptors = {}) {
    iovec part{.iov_base = const_cast<char*>(bytes.data()), .iov_len = bytes.size()};
    std::vector<char> rights(
        CMSG_SPACE(sizeof(int) * std::max<std::size_t>(1, descriptors.size())));
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (!descriptors.empty()) {
      message.msg_control = rights.data();
      message.msg_controllen = CMSG_SPACE(sizeof(int) * descriptors.size());
      cmsghdr* head = CMSG_FIRSTHDR(&message);
      head->cmsg_level = SOL_SOCKET;
      head->cmsg_type = SCM_RIGHTS;
      head->cmsg_len = CMSG_LEN(sizeof(int) * descriptors.size());
      std::memcpy(CMSG_DATA(head), descriptors.data(), sizeof(int) * descriptors.size());
    }
    (void)::sendmsg(control_.get(), &message, MSG_NOSIGNAL);
  }
  void News(wire::FromForkServer kind, std::uint64_t cell, std::string_view text = {},
            const std::vector<int>& descriptors = {}) {
    const wire::CellNews news{
        .kind = kind, .text_length = static_cast<std::uint32_t>(text.size()), .cell = cell};
    SendPacket(AsBytes(news) + std::string(text), descriptors);
  }
  void Ready(std::string_view missing = {}) {
    const wire::ForkServerReady ready{.kind = wire::FromForkServer::kReady,
                                      .missing_length = static_cast<std::uint32_t>(missing.size()),
                                      .copies = behaviour_.copies ? 1u : 0u};
    SendPacket(AsBytes(ready) + std::string(missing));
  }
  FakeCell& Bear(const wire::MakeCell& make) {
    auto cell = std::make_unique<FakeCell>(make, behaviour_.idleness, files_);
    FakeCell& born = *cell;
    cells_.emplace(make.cell, std::move(cell));
    return born;
  }
  FakeCell& Make(const wire::MakeCell& make) {
    FakeCell& cell = Bear(make);
    News(wire::FromForkServer::kBorn, make.cell, {}, {cell.pidfd.get()});
    News(wire::FromForkServer::kPrepared, make.cell, {}, cell.host_ends());
    cell.CloseHostEnds();
    if (behaviour_.after_prepared) behaviour_.after_prepared(*this, cell);
    return cell;
  }
  void Gone(const wire::CellGone& gone) { SendPacket(AsBytes(gone)); }

  ForkServerExit Run() {
    if (!behaviour_.on_begin || behaviour_.on_begin(*this)) Ready(behaviour_.missing);
    while (!dead_ && Step()) {
    }
    cells_.clear();
    return {.status = dead_ ? 3 : 0, .signal = dead_ ? 0 : SIGKILL};
  }

 private:
  bool Step() {
    std::vector<pollfd> waits{{stop_.get(), POLLIN, 0}, {control_.get(), POLLIN, 0}};
    std::vector<FakeCell*> cells;
    for (auto& [number, cell] : cells_) {
      cells.push_back(cell.get());
      waits.push_back({cell->pidfd.get(), POLLIN, 0});
      waits.push_back({cell->socket.get(), POLLIN, 0});
    }
    if (::poll(waits.data(), waits.size(), -1) < 0) return errno == EINTR;
    if (waits[0].revents != 0) return false;
    if (waits[1].revents != 0 && !OnControl()) return false;
    for (std::size_t i = 0; i < cells.size() && !dead_; ++i) {
      if (waits[3 + 2 * i].revents & POLLIN) OnCellSocket(*cells[i]);
      if (waits[2 + 2 * i].revents != 0) OnCellEnded(*cells[i]);
    }
    return true;
  }
  bool OnControl() {
    wire::MakeCell make{};
    const ssize_t n = ::recv(control_.get(), &make, sizeof make, 0);
    if (n <= 0) return false;
    if (behaviour_.on_make) {
      behaviour_.on_make(*this, make);
    } else {
      Make(make);
    }
    return true;
  }
  static bool ReadAll(int fd, void* to, std::size_t size) {
    return size == 0 || ::recv(fd, to, size, MSG_WAITALL) == static_cast<ssize_t>(size);
  }
  void OnCellSocket(FakeCell& cell) {
    wire::StreamFrame frame{};
    if (!ReadAll(cell.socket.get(), &frame, sizeof frame)) return;
    std::string payload(frame.length, '\0');
    if (!ReadAll(cell.socket.get(), payload.data(), payload.size())) return;
    cell.unread += payload;
    if ((frame.flags & wire::kMoreFollows) != 0) return;
    const CellMessage message{static_cast<wire::ToWorker>(frame.kind),
                              std::exchange(cell.unread, {})};
    if (behaviour_.on_message) return behaviour_.on_message(*this, cell, message);
    if (message.kind == wire::ToWorker::kStart) cell.Return(message.Code());
  }
  void OnCellEnded(FakeCell& cell) {
    int status = 0;
    ::waitpid(cell.pid, &status, 0);
    wire::CellGone gone{};
    gone.kind = wire::FromForkServer::kGone;
    gone.cell = cell.number();
    gone.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    gone.status = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    gone.peak_memory_bytes = 1234;
    if (behaviour_.on_gone) {
      behaviour_.on_gone(*this, cell, gone);
    } else {
      Gone(gone);
    }
    cells_.erase(cell.number());
  }

  UniqueFd control_;
  UniqueFd stop_;
  UniqueFd files_;
  const ForkServerBehaviour behaviour_;
  const int number_;
  std::map<std::uint64_t, std::unique_ptr<FakeCell>> cells_;
  bool dead_ = false;
};

class ThreadForkServer final : public ForkServerHandle {
 public:
  ThreadForkServer(const UniqueFd& control, ForkServerBehaviour behaviour, int number)
      : fork_server_(std::make_unique<FakeForkServer>(control, std::move(behaviour), number)),
        ended_(::eventfd(0, EFD_CLOEXEC)) {
    thread_ = std::thread([this] {
      exit_ = fork_server_->Run();
      const std::uint64_t one = 1;
      (void)!::write(ended_.get(), &one, sizeof one);
    });
  }
  ~ThreadForkServer() override {
    Kill();
    if (thread_.joinable()) thread_.join();
  }
  const UniqueFd& ended() const override { return ended_; }
  void Kill() override { fork_server_->Kill(); }
  ForkServerExit Reap() override {
    if (thread_.joinable()) thread_.join();
    return exit_;
  }

 private:
  std::unique_ptr<FakeForkServer> fork_server_;
  UniqueFd ended_;
  ForkServerExit exit_;
  std::thread thread_;
};

class ThreadForkServerLauncher final : public ForkServerLauncher {
 public:
  explicit ThreadForkServerLauncher(ForkServerBehaviour behaviour)
      : behaviour_(std::move(behaviour)) {}
  Result<std::unique_ptr<ForkServerHandle>> Launch(const ForkServerSpec& spec) override {
    return std::unique_ptr<ForkServerHandle>(
        std::make_unique<ThreadForkServer>(spec.control, behaviour_, started_.fetch_add(1)));
  }

 private:
  const ForkServerBehaviour behaviour_;
  std::atomic<int> started_{0};
};

}  // namespace caisson::testing
