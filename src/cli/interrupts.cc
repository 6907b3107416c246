#include "cli/interrupts.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "cli/exit_status.h"

namespace caisson::cli {

Result<void> Interrupts::Listen(std::function<void()> on_first) {
  return ListenAlways([this, on_first = std::move(on_first)](int signal) {
    if (signal_.load() != 0) ::_exit(kExitSignalBase + signal);
    signal_.store(signal);
    on_first();
  });
}

Result<void> Interrupts::ListenAlways(std::function<void(int signal)> on_signal) {
  on_signal_ = std::move(on_signal);
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    // Signals that our parent ignores (nohup, a background job) stay ignored. They must not be
    // blocked, because the kernel keeps blocked signals even if they are ignored.
    struct sigaction before{};
    ::sigaction(signal, nullptr, &before);
    if (before.sa_handler != SIG_IGN) sigaddset(&set, signal);
  }
  if (const int error = ::pthread_sigmask(SIG_BLOCK, &set, nullptr); error != 0) {
    return Error::FromErrno(error, "block signals");
  }
  signals_ = UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC));
  stop_ = UniqueFd(::eventfd(0, EFD_CLOEXEC));
  if (!signals_.is_open() || !stop_.is_open()) return Error::FromErrno(errno, "watch for signals");
  thread_ = std::thread([this] { Loop(); });
  return {};
}

Interrupts::~Interrupts() {
  if (!thread_.joinable()) return;
  const std::uint64_t one = 1;
  static_cast<void>(!::write(stop_.get(), &one, sizeof one));
  thread_.join();
}

void Interrupts::Loop() {
  std::array<pollfd, 2> ready{{{.fd = signals_.get(), .events = POLLIN, .revents = 0},
                               {.fd = stop_.get(), .events = POLLIN, .revents = 0}}};
  while (true) {
    if (::poll(ready.data(), ready.size(), -1) < 0) continue;
    if (ready[1].revents != 0) return;
    signalfd_siginfo info{};
    if (::read(signals_.get(), &info, sizeof info) != sizeof info) continue;
    on_signal_(static_cast<int>(info.ssi_signo));
  }
}

}  // namespace caisson::cli
