#include "cli/output.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>

namespace caisson::cli {
namespace {

// Returns 0 or the errno. Waits if another process made the descriptor non-blocking.
int WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n >= 0) {
      text.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno == EAGAIN) {
      pollfd ready{.fd = fd, .events = POLLOUT, .revents = 0};
      ::poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

}  // namespace

Output::Output(int fd) : fd_(fd), terminal_(::isatty(fd) == 1) {}

Output Output::Stdout() {
  return Output(STDOUT_FILENO);
}
Output Output::Stderr() {
  return Output(STDERR_FILENO);
}

void Output::Write(std::string_view text) {
  if (text.empty() || failed_ != 0) return;
  line_open_ = text.back() != '\n';
  failed_ = WriteAll(fd_, text);
}

void Output::WriteGuest(std::string_view text) {
  if (terminal_) return Write(terminal_text_.Escape(text));
  Write(text);
}

void Output::FinishGuest() {
  Write(terminal_text_.Finish());
}

void Output::FinishLine() {
  FinishGuest();
  if (line_open_) Write("\n");
}

void PrepareStandardStreams() {
  ::signal(SIGPIPE, SIG_IGN);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    // The lowest free number is `fd` itself. It is opened for the wrong direction, so that reading
    // a closed stdin or writing to a closed stdout is still an error.
    ::open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_WRONLY);
  }
}

}  // namespace caisson::cli
