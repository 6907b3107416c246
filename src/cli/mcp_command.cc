#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "cli/code_flags.h"
#include "cli/commands.h"
#include "cli/exit_status.h"
#include "cli/interrupts.h"
#include "cli/output.h"
#include "codeact/fleeting_runs.h"
#include "identity/local_resolver.h"
#include "net/endpoint.h"
#include "net/server.h"
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

struct McpFlags {
  CodeFlags code;
  std::string listen;
  bool conformance_fixtures = false;
};

// One execution of the command: what it needs, and one of two ways to serve.
class McpCommand {
 public:
  explicit McpCommand(const McpFlags& flags) : flags_(flags) {}

  int Execute() {
    if (auto ready = Prepare(); !ready) return Fail(ready.error());
    auto served = flags_.listen.empty() ? ServePipes() : ServeHttp();
    if (!served) return Fail(served.error());
    return interrupts_.signal() == 0 ? kExitCompleted : kExitSignalBase + interrupts_.signal();
  }

 private:
  static int Fail(const Error& error) {
    Output::Stderr().Write("caisson: " + error.message() + "\n");
    return ExitStatus(error.code());
  }

  Result<void> Prepare();
  Result<void> ServePipes();
  Result<void> ServeHttp();
  void Run(asio::awaitable<void> work);

  const McpFlags& flags_;
  asio::io_context context_{1};
  std::function<void()> on_signal_ = [] {};  // Called in context_.
  const KeyRing keys_ = KeyRing::Generate();
  std::unique_ptr<CodeService> service_;
  std::optional<FleetingRuns> runs_;
  std::optional<McpServer> server_;
  Interrupts interrupts_;  // Goes first: it uses what is above.
};

Result<void> McpCommand::Prepare() {
  TRY_ASSIGN(CodeServiceOptions options, ToServiceOptions(flags_.code));
  TRY(interrupts_.Listen([this] { asio::post(context_, [this] { on_signal_(); }); }));
  TRY_ASSIGN(service_, CodeService::Open(std::move(options)));
  runs_.emplace(service_->runner(), service_->setting());
  using Fixtures = McpOptions::Fixtures;
  server_.emplace(*runs_, keys_,
                  McpOptions{.setting = service_->setting(),
                             .fixtures = flags_.conformance_fixtures ? Fixtures::kConformance
                                                                     : Fixtures::kNone});
  return {};
}

void McpCommand::Run(asio::awaitable<void> work) {
  asio::co_spawn(context_, std::move(work), [](const std::exception_ptr& thrown) {
    if (thrown) std::terminate();  // Nothing of ours throws.
  });
  context_.run();
}

Result<void> McpCommand::ServePipes() {
  const StandardStreams streams;
  LineStream lines(context_.get_executor(), {.input = StandardStreams::Copy(STDIN_FILENO),
                                             .output = StandardStreams::Copy(STDOUT_FILENO)});
  on_signal_ = [&] { lines.Close(); };
  if (interrupts_.signal() != 0) lines.Close();  // It came before there was anything to close.
  Run(server_->ServeLines(lines));
  on_signal_ = [] {};
  return {};
}

Result<void> McpCommand::ServeHttp() {
  TRY_ASSIGN(const auto endpoint, net::ParseEndpoint(flags_.listen));
  const LocalResolver resolver;
  net::Router router;
  server_->Mount(router, resolver, context_.get_executor());
  TRY_ASSIGN(const auto http,
             net::Server::Listen(context_.get_executor(), endpoint, std::move(router),
                                 {.access = net::AccessRules::LoopbackOnly()}));
  http->Start();
  Output::Stdout().Write("http://" + net::ToText(http->endpoint()) + "/mcp\n");
  const auto close = [&]() -> asio::awaitable<void> {
    co_await runs_->Close();
    co_await http->Close(std::chrono::seconds(1));
  };
  on_signal_ = [&] {
    asio::co_spawn(context_, close(), [](const std::exception_ptr& thrown) {
      if (thrown) std::terminate();
    });
  };
  context_.run();
  return {};
}

}  // namespace

void AddMcpCommand(CLI::App& program, int& exit_status) {
  auto flags = std::make_shared<McpFlags>();  // Shared by the parser and the callback.
  CLI::App* command =
      program.add_subcommand("mcp", "Serve execute_code to an MCP client on stdin and stdout");
  command->footer(kExamples);
  AddCodeFlags(*command, flags->code);
  // For tests.
  command->add_option("--listen", flags->listen)->group("");
  command->add_flag("--conformance-fixtures", flags->conformance_fixtures)->group("");
  command->callback([flags, &exit_status] { exit_status = McpCommand(*flags).Execute(); });
}

}  // namespace caisson::cli
