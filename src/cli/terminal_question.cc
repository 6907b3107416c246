#include "cli/terminal_question.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "approval/presentation.h"
#include "base/unique_fd.h"
#include "cli/store_flags.h"

namespace caisson::cli {
namespace {

constexpr std::size_t kMaxAnswer = 1024;

// Shows the same text as every other door (I5).
Result<std::string> Question(const NewApproval& asked) {
  TRY_ASSIGN(const Presentation shown, Present(asked));
  return "caisson: the code wants to call " + asked.binding.tool + " with\n" + ToText(shown) +
         "allow this call? [y/N] ";
}

void WriteAll(const UniqueFd& terminal, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(terminal.get(), text.data(), text.size());
    if (n <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

bool IsReadable(const UniqueFd& fd) {
  pollfd ready{.fd = fd.get(), .events = POLLIN, .revents = 0};
  return ::poll(&ready, 1, 0) == 1;
}

// Returns the first line that is typed; nullopt: GiveUp() was called first.
std::optional<std::string> ReadLine(const UniqueFd& terminal, const UniqueFd& given_up) {
  std::array<pollfd, 2> ready{{{.fd = terminal.get(), .events = POLLIN, .revents = 0},
                               {.fd = given_up.get(), .events = POLLIN, .revents = 0}}};
  std::string line;
  while (line.size() < kMaxAnswer) {
    while (::poll(ready.data(), ready.size(), -1) < 0) {
    }
    if (ready[1].revents != 0) return std::nullopt;
    char c = 0;
    if (::read(terminal.get(), &c, 1) != 1 || c == '\n') break;
    line += c;
  }
  return line;
}

UniqueFd OpenTerminal() {
  return UniqueFd(::open("/dev/tty", O_RDWR | O_CLOEXEC));
}

Answer Denied(std::string reason) {
  return {.verdict = ApprovalState::kDenied, .by = CurrentUser(), .reason = std::move(reason)};
}

}  // namespace

Result<TerminalQuestion> TerminalQuestion::Make() {
  UniqueFd given_up(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!given_up.is_open()) return Error::FromErrno(errno, "eventfd");
  return TerminalQuestion(std::move(given_up));
}

bool TerminalQuestion::IsPossible() {
  return OpenTerminal().is_open();
}

void TerminalQuestion::GiveUp() {
  const std::uint64_t one = 1;
  static_cast<void>(!::write(given_up_.get(), &one, sizeof one));
}

std::optional<Answer> TerminalQuestion::Ask(const StoredApproval& approval) const {
  if (IsReadable(given_up_)) return std::nullopt;
  const UniqueFd terminal = OpenTerminal();
  if (!terminal.is_open()) return Denied("there is no terminal to ask at (see --approve)");
  const auto question = Question(approval.asked);
  if (!question) return Denied("nobody can be asked: " + question.error().message());
  ::tcflush(terminal.get(), TCIFLUSH);  // Discards what was typed before the question.
  WriteAll(terminal, *question);
  const auto answer = ReadLine(terminal, given_up_);
  if (!answer) {
    WriteAll(terminal, "\n");
    return std::nullopt;
  }
  if (*answer != "y" && *answer != "Y" && *answer != "yes") return Denied("");
  return Answer{.verdict = ApprovalState::kApproved, .by = CurrentUser()};
}

}  // namespace caisson::cli
