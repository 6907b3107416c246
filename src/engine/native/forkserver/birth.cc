#include "engine/native/forkserver/birth.h"

#include <sys/socket.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <utility>

namespace caisson::forkserver {
namespace {

Result<SocketPair> MakeSocket() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return Error::FromErrno(errno, "socket for a cell");
  }
  return SocketPair{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

std::uint64_t Nanoseconds(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_usec) * 1'000;
}

}  // namespace

Result<std::optional<pid_t>> GiveBirth(const Inheritance& inheritance, const CellRequest& request,
                                       const Fork& fork) {
  const auto stillborn = [&](const Error& why) -> Result<std::optional<pid_t>> {
    TRY(inheritance.control.SendFailed(request.head.cell, why));
    return std::optional<pid_t>();
  };
  Result<SocketPair> socket = MakeSocket();
  if (!socket) return stillborn(socket.error());
  const Result<jail::Enclosure::Forked> forked = fork();
  if (!forked) return stillborn(forked.error());
  if (forked->pid == 0) ForkedCell(inheritance, request, *std::move(socket)).Live();
  const int pidfd = forked->pidfd.get();
  TRY(inheritance.control.SendNews(wire::FromForkServer::kBorn, request.head.cell, {},
                                   {&pidfd, 1}));
  // Now the cell may report that it is prepared.
  if (::send(socket->host.get(), "g", 1, MSG_NOSIGNAL) != 1) {
    return Error::FromErrno(errno, "release a cell");
  }
  return std::optional(forked->pid);
}

wire::CellGone Obituary(std::uint64_t cell, int status, const rusage& usage) {
  return {
      .kind = wire::FromForkServer::kGone,
      .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
      .cell = cell,
      .status = WIFEXITED(status) ? WEXITSTATUS(status) : 0,
      .files_untouched = 0,
      .cpu_ns = Nanoseconds(usage.ru_utime) + Nanoseconds(usage.ru_stime),
      .peak_memory_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024,
  };
}

}  // namespace caisson::forkserver
