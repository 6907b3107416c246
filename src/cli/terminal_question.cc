#include "cli/terminal_question.h"

#include <fcntl.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <utility>

#include "approval/binding.h"
#include "approval/presentation.h"
#include "base/run_on.h"
#include "base/unique_fd.h"

namespace caisson::cli {
namespace {

constexpr std::size_t kMaxAnswer = 1024;

// What is shown is what any other door would show (I5).
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

// The first line that is typed.
std::string ReadLine(const UniqueFd& terminal) {
  std::string line;
  char c = 0;
  while (line.size() < kMaxAnswer && ::read(terminal.get(), &c, 1) == 1 && c != '\n') line += c;
  return line;
}

std::optional<ToolDenied> Ask(const GatedCall& call) {
  const UniqueFd terminal(::open("/dev/tty", O_RDWR | O_CLOEXEC));
  if (!terminal.is_open()) {
    return ToolDenied{call.tool->name() +
                      " needs an approval, and there is no terminal to ask at (see --approve)"};
  }
  const auto question = Question(call);
  if (!question) return ToolDenied{"nobody can be asked: " + question.error().message()};
  WriteAll(terminal, *question);
  const std::string answer = ReadLine(terminal);
  if (answer == "y" || answer == "Y" || answer == "yes") return std::nullopt;
  return ToolDenied{"the call of " + call.tool->name() + " was denied"};
}

}  // namespace

ToolGate TerminalGate(asio::any_io_executor executor) {
  return [executor =
              std::move(executor)](GatedCall call) -> asio::awaitable<std::optional<ToolDenied>> {
    co_return co_await CallOn(executor, [&call] { return Ask(call); });
  };
}

}  // namespace caisson::cli
