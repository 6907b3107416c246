#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/guarded.h"
#include "caller/caller_context.h"
#include "cli/code_flags.h"
#include "cli/commands.h"
#include "cli/exit_status.h"
#include "cli/interrupts.h"
#include "cli/output.h"
#include "config/config.h"
#include "server/pipe_server.h"
#include "server/warm_packages.h"

namespace caisson::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  claude mcp add caisson -- caisson mcp
  caisson mcp --config caisson.toml             with the tools, limits and store of a configuration

Speaks MCP on stdin and stdout until the client closes them; everything else goes to stderr.
Without a configuration nothing is stored: runs that wait for an approval end with the client.)";

// Makes the standard streams non-blocking and restores them at the end, because other processes may
// share them.
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

// Uses a store in memory if nothing is configured: such a user did not ask for files.
Result<Config> ToConfig(const CodeFlags& flags) {
  if (!flags.config.empty()) return LoadConfig(flags.config);
  Config config;
  config.store.url = "memory:";
  return config;
}

// The packages that fork servers import before code needs them. Code takes the one that has most of
// its packages. The first one is started with the engine, the others when code needs them.
std::vector<std::vector<std::string>> Preloads(const WarmPackages& warm) {
  std::vector<std::vector<std::string>> kinds = {{},
                                                 {"numpy"},
                                                 {"numpy", "pandas"},
                                                 {"numpy", "matplotlib.pyplot"},
                                                 {"numpy", "pandas", "matplotlib.pyplot"}};
  const auto latest = warm.latest();
  if (latest.empty()) return kinds;
  const auto has = [&](const std::vector<std::string>& kind) {
    return std::ranges::count_if(latest.front(), [&](const std::string& name) {
      return std::ranges::any_of(kind, [&](const std::string& module) {
        return module.substr(0, module.find('.')) == name;
      });
    });
  };
  std::ranges::rotate(kinds.begin(), std::ranges::max_element(kinds, {}, has), kinds.end());
  return kinds;
}

// A client often sends code with the same packages again, also the next time it starts this
// program.
void KeepPackagesWarm(const std::string& file, BackendOptions& backend) {
  backend.preloads = Preloads(WarmPackages(file));
  backend.spare_cells = BackendOptions().spare_cells;
}

// The server that a signal stops; null while there is none.
using Serving = Guarded<PipeServer*>;

Result<void> Serve(const CodeFlags& flags, Serving& serving, const Interrupts& interrupts) {
  TRY_ASSIGN(Config config, ToConfig(flags));
  TRY_ASSIGN(CodeServiceOptions code, ToServiceOptions(flags));
  const EnvironmentMap environment = CaptureEnvironment();
  KeepPackagesWarm(WarmFileOf(environment), code.backend);
  const StandardStreams streams;
  TRY_ASSIGN(const auto server, PipeServer::Open({.config = std::move(config),
                                                  .code = std::move(code),
                                                  .environment = environment,
                                                  .warm_file = WarmFileOf(environment),
                                                  .input = StandardStreams::Copy(STDIN_FILENO),
                                                  .output = StandardStreams::Copy(STDOUT_FILENO)}));
  *serving.Lock() = server.get();
  if (interrupts.signal() != 0) server->Stop();  // The signal came before the server existed.
  server->Serve();
  *serving.Lock() = nullptr;
  return {};
}

int Fail(const Error& error) {
  Output::Stderr().Write("caisson: " + error.message() + "\n");
  return ExitStatus(error.code());
}

int RunMcp(const CodeFlags& flags) {
  Serving serving{nullptr};
  Interrupts interrupts;  // Destroyed first: it uses the members above.
  const auto stop = [&serving] {
    // The lock keeps the server alive meanwhile. Stop only posts.
    auto server = serving.Lock();
    if (*server != nullptr) (*server)->Stop();
  };
  if (auto listening = interrupts.Listen(stop); !listening) return Fail(listening.error());
  if (auto served = Serve(flags, serving, interrupts); !served) return Fail(served.error());
  return interrupts.signal() == 0 ? kExitCompleted : kExitSignalBase + interrupts.signal();
}

}  // namespace

void AddMcpCommand(Command program) {
  auto flags = std::make_shared<CodeFlags>();  // Shared by the parser and the callback.
  Command command =
      program.AddSubcommand("mcp", "Serve execute_code to an MCP client on stdin and stdout");
  command.SetFooter(kExamples);
  AddCodeFlags(command, *flags);
  command.OnChosen([flags] { return RunMcp(*flags); });
}

}  // namespace caisson::cli
