#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "cli/code_flags.h"
#include "cli/commands.h"
#include "cli/exit_status.h"
#include "cli/interrupts.h"
#include "cli/output.h"
#include "server/code_service.h"
#include "server/mcp_server.h"

namespace caisson::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  claude mcp add caisson -- caisson mcp
  caisson mcp --config caisson.toml             with the tools and limits of a configuration

Speaks MCP on stdin and stdout until the client closes them; everything else goes to stderr.)";

// Standard streams that do not block while we have them, and are left as they were: others may share them.
class StandardStreams {
 public:
  StandardStreams() {
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO}) flags_[fd] = ::fcntl(fd, F_GETFL);
  }
  ~StandardStreams() {
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO}) ::fcntl(fd, F_SETFL, flags_[fd]);
  }
  StandardStreams(const StandardStreams&) = delete;
  StandardStreams& operator=(const StandardStreams&) = delete;

  static UniqueFd Copy(int fd) { return UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, 3)); }

 private:
  int flags_[2] = {};
};

int Fail(const Error& error) {
  Output::Stderr().Write("caisson: " + error.message() + "\n");
  return ExitStatus(error.code());
}

int RunMcp(const CodeFlags& flags) {
  auto options = ToServiceOptions(flags);
  if (!options) return Fail(options.error());

  asio::io_context context(1);
  const StandardStreams streams;
  LineStream lines(context.get_executor(), {.input = StandardStreams::Copy(STDIN_FILENO),
                                            .output = StandardStreams::Copy(STDOUT_FILENO)});
  Interrupts interrupts;
  const auto stop = [&] { asio::post(context, [&] { lines.Close(); }); };
  if (auto listening = interrupts.Listen(stop); !listening) return Fail(listening.error());

  const auto service = CodeService::Open(*std::move(options));
  if (!service) return Fail(service.error());
  McpServer server(**service);
  asio::co_spawn(context, server.ServeLines(lines), [](const std::exception_ptr& thrown) {
    if (thrown) std::terminate();  // Nothing of ours throws.
  });
  context.run();
  return interrupts.signal() == 0 ? kExitCompleted : kExitSignalBase + interrupts.signal();
}

}  // namespace

void AddMcpCommand(CLI::App& program, int& exit_status) {
  auto flags = std::make_shared<CodeFlags>();  // Shared by the parser and the callback.
  CLI::App* command =
      program.add_subcommand("mcp", "Serve execute_code to an MCP client on stdin and stdout");
  command->footer(kExamples);
  AddCodeFlags(*command, *flags);
  command->callback([flags, &exit_status] { exit_status = RunMcp(*flags); });
}

}  // namespace caisson::cli
