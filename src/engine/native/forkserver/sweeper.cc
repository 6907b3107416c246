#include "engine/native/forkserver/sweeper.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>

#include "base/tree.h"
#include "jail/walls.h"

namespace caisson::forkserver {
namespace {

constexpr int kPauseMs = 10;
constexpr int kRounds = 3000;  // Half a minute.

}  // namespace

Result<void> Sweep(const std::string& path, const UniqueFd& host) {
  TRY(jail::SetProcessName("caisson-sweeper"));
  // A service manager sends its signals to all processes of a service. The end of the host is the
  // only one that counts here.
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_BLOCK, &all, nullptr);
  // The host's working directory may be unmounted before the host ends.
  if (::chdir("/") != 0) return Error::FromErrno(errno, "go to /");
  pollfd ended{.fd = host.get(), .events = POLLIN, .revents = 0};
  while (::poll(&ended, 1, -1) < 0) {
    if (errno != EINTR) return Error::FromErrno(errno, "wait for the host");
  }
  // The cells are killed when the host ends, but may add files until they are dead.
  for (int i = 0; i < kRounds; ++i) {
    if (RemoveTree(AT_FDCWD, path.c_str())) return {};
    ::poll(nullptr, 0, kPauseMs);
  }
  return Error(ErrorCode::kInternal, "cannot remove " + path);
}

}  // namespace caisson::forkserver
