#include "cli/terminal_question.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "approval/binding.h"
#include "approval/presentation.h"
#include "base/run_on.h"
#include "base/unique_fd.h"

namespace caisson::cli {
namespace {

constexpr std::size_t kMaxAnswer = 1024;

// Shows the same text as every other door (I5).
Result<std::string> Question(const GatedCall& call) {
  TRY_ASSIGN(const CanonicalArguments arguments, Canonicalize(call.arguments));
  NewApproval asked{
      .id = ApprovalId(""), .binding = {.run = RunId("")}, .arguments = arguments.text};
  asked.binding.arguments_digest = arguments.digest;
  TRY_ASSIGN(const Presentation shown, Present(asked));
  return "caisson: the code wants to call " + call.tool->name() + " with\n" + ToText(shown) +
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

struct GoAhead {};
struct GivenUp {};
using Reply = std::variant<GoAhead, ToolDenied, GivenUp>;

UniqueFd OpenTerminal() {
  return UniqueFd(::open("/dev/tty", O_RDWR | O_CLOEXEC));
}

Reply Ask(const GatedCall& call, const UniqueFd& given_up) {
  if (IsReadable(given_up)) return GivenUp{};
  const UniqueFd terminal = OpenTerminal();
  if (!terminal.is_open()) {
    return ToolDenied{call.tool->name() +
                      " needs an approval, and there is no terminal to ask at (see --approve)"};
  }
  const auto question = Question(call);
  if (!question) return ToolDenied{"nobody can be asked: " + question.error().message()};
  ::tcflush(terminal.get(), TCIFLUSH);  // Discards what was typed before the question.
  WriteAll(terminal, *question);
  const auto answer = ReadLine(terminal, given_up);
  if (!answer) {
    WriteAll(terminal, "\n");
    return GivenUp{};
  }
  if (*answer == "y" || *answer == "Y" || *answer == "yes") return GoAhead{};
  return ToolDenied{"the call of " + call.tool->name() + " was denied"};
}

// Returns when the call is cancelled.
asio::awaitable<void> WaitForTheEnd() {
  asio::steady_timer never(co_await asio::this_coro::executor,
                           asio::steady_timer::time_point::max());
  co_await never.async_wait(asio::as_tuple(asio::use_awaitable));
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

ToolGate TerminalQuestion::Gate(asio::any_io_executor executor) {
  return [executor = std::move(executor),
          this](GatedCall call) -> asio::awaitable<std::optional<ToolDenied>> {
    auto reply = co_await CallOn(executor, [&] { return Ask(call, given_up_); });
    // An answer, even a denial, would let the code continue until it is cancelled.
    if (std::holds_alternative<GivenUp>(reply)) co_await WaitForTheEnd();
    if (auto* denied = std::get_if<ToolDenied>(&reply)) co_return std::move(*denied);
    co_return std::holds_alternative<GoAhead>(reply)
        ? std::nullopt
        : std::optional(ToolDenied{"the question got no answer"});
  };
}

}  // namespace caisson::cli
