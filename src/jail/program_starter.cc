#include "jail/program_starter.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "jail/signals.h"

namespace caisson::jail {
namespace {

constexpr std::size_t kDescriptors = 5;  // Control, input, output, errors, and the file of texts.

// The file of texts has this header, room for the pointers to arguments and variables, and then the
// texts, each with a NUL at its end: path, directory, arguments, variables.
struct TextsHeader {
  std::uint64_t arguments = 0;
  std::uint64_t variables = 0;
  std::uint64_t has_directory = 0;
  std::uint64_t bytes = 0;  // Size of the whole file.

  std::size_t pointer_bytes() const { return (arguments + variables + 2) * sizeof(char*); }
};

struct Reply {
  std::int64_t pid = -1;
  int error_number = 0;
};

// A packet with descriptors. Unlike base/packet.h, receiving does not allocate: the starter is a
// copy of a process that had threads.
template <typename Body>
struct RawPacket {
  explicit RawPacket(Body& body) : part{.iov_base = &body, .iov_len = sizeof body} {
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
  }

  void Attach(const int* descriptors, std::size_t count) {
    message.msg_controllen = CMSG_SPACE(count * sizeof(int));
    cmsghdr* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(count * sizeof(int));
    std::memcpy(CMSG_DATA(head), descriptors, count * sizeof(int));
  }

  bool Detach(int* descriptors, std::size_t count) {
    const cmsghdr* head = CMSG_FIRSTHDR(&message);
    if (head == nullptr || head->cmsg_len != CMSG_LEN(count * sizeof(int))) return false;
    std::memcpy(descriptors, CMSG_DATA(head), count * sizeof(int));
    return true;
  }

  iovec part;
  msghdr message{};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kDescriptors * sizeof(int))> control{};
};

// Runs in the starter. Raw system calls only, as in newborn.cc.
class StarterProcess {
 public:
  explicit StarterProcess(int socket, int nice) : socket_(socket), nice_(nice) {}

  [[noreturn]] void Run() {
    ::syscall(SYS_setsid);  // The terminal's signals are for the host.
    const long raw = ::syscall(SYS_getpriority, PRIO_PROCESS, 0);  // 40 down to 1.
    ::syscall(SYS_setpriority, PRIO_PROCESS, 0, 20 - raw + nice_);
    TakeLowNumbers();
    char word = 0;
    std::array<int, kDescriptors> given{};
    for (;;) {
      RawPacket packet(word);
      const long got = ::syscall(SYS_recvmsg, socket_, &packet.message, MSG_CMSG_CLOEXEC);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0 || !packet.Detach(given.data(), given.size())) break;
      Serve(given);
      for (const int fd : given) ::syscall(SYS_close, fd);
    }
    ::syscall(SYS_exit_group, 0);
    __builtin_unreachable();
  }

 private:
  // Closes all descriptors of the host except its own. Those received later are numbered kFirstFree
  // or above.
  void TakeLowNumbers() {
    ::syscall(SYS_dup3, socket_, MinderPlan::kFirstFree - 1, O_CLOEXEC);
    socket_ = MinderPlan::kFirstFree - 1;
    ::syscall(SYS_close_range, MinderPlan::kFirstFree, ~0U, 0);
    for (int fd = 0; fd < socket_; ++fd) ::syscall(SYS_dup3, socket_, fd, O_CLOEXEC);
  }

  void Serve(const std::array<int, kDescriptors>& given) const {
    TextsHeader header;
    Reply reply;
    int pidfd = -1;
    void* map = MAP_FAILED;
    if (::pread(given[4], &header, sizeof header, 0) == sizeof header) {
      map = ::mmap(nullptr, header.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, given[4], 0);
    }
    if (map != MAP_FAILED) reply.pid = Create(header, static_cast<char*>(map), given, pidfd);
    if (reply.pid < 0) reply.error_number = errno;
    if (map != MAP_FAILED) ::munmap(map, header.bytes);
    RawPacket packet(reply);
    packet.message.msg_controllen = 0;
    if (pidfd >= 0) packet.Attach(&pidfd, 1);
    ::syscall(SYS_sendmsg, socket_, &packet.message, MSG_NOSIGNAL);
    if (pidfd >= 0) ::syscall(SYS_close, pidfd);
  }

  static long Create(const TextsHeader& header, char* file,
                     const std::array<int, kDescriptors>& fds, int& pidfd) {
    char** const argv = reinterpret_cast<char**>(file + sizeof header);
    char** const environment = argv + header.arguments + 1;
    char* text = file + sizeof header + header.pointer_bytes();
    const auto next = [&text] { return std::exchange(text, text + std::strlen(text) + 1); };
    const char* const path = next();
    const char* const directory = next();
    for (std::uint64_t i = 0; i < header.arguments; ++i) argv[i] = next();
    for (std::uint64_t i = 0; i < header.variables; ++i) environment[i] = next();
    const MinderPlan plan{.control = fds[0],
                          .input = fds[1],
                          .output = fds[2],
                          .errors = fds[3],
                          .path = path,
                          .directory = header.has_directory != 0 ? directory : nullptr,
                          .argv = argv,
                          .environment = environment,
                          .stays_in_session = true};
    // A child of the host. It sends no signal at its end because the starter sends none.
    const long pid = ::syscall(SYS_clone, CLONE_PIDFD | CLONE_PARENT, nullptr, &pidfd, nullptr, 0);
    if (pid == 0) Minder(plan).Run();
    return pid;
  }

  int socket_;
  const int nice_;
};

template <typename Run>
Result<StartedMinder> Copy(Run run) {
  int pidfd = -1;
  long pid = 0;
  int error_number = 0;
  {
    SignalsBlocked blocked;
    // No signal at its end: a program that embeds us may reap every child that sends one.
    pid = ::syscall(SYS_clone, CLONE_PIDFD, nullptr, &pidfd, nullptr, 0);
    if (pid == 0) run();
    error_number = errno;
  }
  if (pid < 0) return Error::FromErrno(error_number, "copy this process");
  return StartedMinder{.pid = static_cast<pid_t>(pid), .pidfd = UniqueFd(pidfd)};
}

Result<UniqueFd> TextsFile(const MinderPlan& plan) {
  TextsHeader header{.has_directory = plan.directory != nullptr ? 1u : 0u};
  std::string texts(plan.path);
  texts.push_back('\0');
  texts.append(plan.directory != nullptr ? plan.directory : "").push_back('\0');
  for (; plan.argv[header.arguments] != nullptr; ++header.arguments) {
    texts.append(plan.argv[header.arguments]).push_back('\0');
  }
  for (; plan.environment[header.variables] != nullptr; ++header.variables) {
    texts.append(plan.environment[header.variables]).push_back('\0');
  }
  std::string bytes(sizeof header + header.pointer_bytes(), '\0');
  bytes += texts;
  header.bytes = bytes.size();
  std::memcpy(bytes.data(), &header, sizeof header);
  UniqueFd file(::memfd_create("program", MFD_CLOEXEC));
  if (!file.is_open()) return Error::FromErrno(errno, "file for a program's arguments");
  const ssize_t written = ::pwrite(file.get(), bytes.data(), bytes.size(), 0);
  if (written == static_cast<ssize_t>(bytes.size())) return file;
  return Error::FromErrno(written < 0 ? errno : ENOSPC, "file for a program's arguments");
}

// nullopt: the starter is lost and has not read the request. If it is lost later, the program may
// have started, so nobody may start it again.
std::optional<Result<StartedMinder>> Ask(int socket, const MinderPlan& plan,
                                         const UniqueFd& texts) {
  const std::array<int, kDescriptors> given = {plan.control, plan.input, plan.output, plan.errors,
                                               texts.get()};
  char word = 1;
  RawPacket request(word);
  request.Attach(given.data(), given.size());
  if (::sendmsg(socket, &request.message, MSG_NOSIGNAL) != sizeof word) return std::nullopt;
  Reply reply;
  RawPacket packet(reply);
  ssize_t got = 0;
  do {
    got = ::recvmsg(socket, &packet.message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  // The kernel's answer if the other end was closed with unread packets.
  if (got < 0 && errno == ECONNRESET) return std::nullopt;
  if (got != sizeof reply) {
    return Error(ErrorCode::kUnavailable, "the process that starts programs ended meanwhile");
  }
  if (reply.pid < 0) return Error::FromErrno(reply.error_number, "create a process");
  int pidfd = -1;
  if (!packet.Detach(&pidfd, 1)) return Error(ErrorCode::kResourceExhausted, "receive a pidfd");
  return StartedMinder{.pid = static_cast<pid_t>(reply.pid), .pidfd = UniqueFd(pidfd)};
}

}  // namespace

Result<StartedMinder> StartMinder(const MinderPlan& plan) {
  return Copy([&plan] { Minder(plan).Run(); });
}

Result<std::unique_ptr<ProgramStarter>> ProgramStarter::Make(int nice) {
  std::array<int, 2> pair{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()) != 0) {
    return Error::FromErrno(errno, "socket pair for the program starter");
  }
  UniqueFd ours(pair[0]);
  const UniqueFd theirs(pair[1]);
  auto process = Copy([&] { StarterProcess(theirs.get(), nice).Run(); });
  if (!process) return std::move(process).error().Context("start the program starter");
  return std::unique_ptr<ProgramStarter>(new ProgramStarter(std::move(ours), *std::move(process)));
}

ProgramStarter::~ProgramStarter() {
  *socket_.Lock() = UniqueFd();  // The starter ends when its socket is closed.
  siginfo_t info{};
  while (::waitid(P_PIDFD, static_cast<id_t>(process_.pidfd.get()), &info, WEXITED | __WALL) != 0 &&
         errno == EINTR) {
  }
}

Result<StartedMinder> ProgramStarter::Start(const MinderPlan& plan) {
  TRY_ASSIGN(const UniqueFd texts, TextsFile(plan));
  {
    auto socket = socket_.Lock();
    if (socket->is_open()) {
      if (auto started = Ask(socket->get(), plan, texts)) return *std::move(started);
      *socket = UniqueFd();
    }
  }
  return StartMinder(plan);
}

}  // namespace caisson::jail
