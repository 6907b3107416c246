#include <memory>
#include <string>
#include <utility>

#include "base/guarded.h"
#include "caller/caller_context.h"
#include "cli/code_flags.h"
#include "cli/commands.h"
#include "cli/exit_status.h"
#include "cli/interrupts.h"
#include "cli/output.h"
#include "config/config.h"
#include "server/http_server.h"

namespace caisson::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  caisson serve                                   for you alone, on http://127.0.0.1:8080
  caisson serve --listen 127.0.0.1:0              on a free port; the first line names it
  caisson serve --config caisson.toml             with the tools, users and store of a configuration

The first line on stdout names the address. Failures are written to stderr as lines of JSON.
After SIGTERM or Ctrl-C the server finishes its requests and puts waiting runs to sleep. A second
signal ends it at once.)";

struct ServeFlags {
  std::string config;
  std::string listen;
  std::string tier;
  std::string worker_directory;
};

Result<Config> ToConfig(const ServeFlags& flags) {
  Config config;
  if (!flags.config.empty()) {
    TRY_ASSIGN(config, LoadConfig(flags.config));
  }
  if (!flags.listen.empty()) config.server.listen = flags.listen;
  if (!flags.tier.empty()) config.engine.tier = flags.tier;
  return config;
}

int Fail(const Error& error, int exit_status) {
  Output::Stderr().Write("caisson: " + error.message() + "\n");
  return exit_status;
}

int Serve(const ServeFlags& flags) {
  auto config = ToConfig(flags);
  if (!config) return Fail(config.error(), kExitUsage);
  EnvironmentMap environment = CaptureEnvironment();

  Guarded<HttpServer*> serving{nullptr};
  Interrupts interrupts;
  const auto stop = [&serving] {
    // The lock keeps the server alive meanwhile. Stop only posts.
    auto server = serving.Lock();
    if (*server != nullptr) (*server)->Stop();
  };
  if (auto listening = interrupts.Listen(stop); !listening) {
    return Fail(listening.error(), kExitOurFault);
  }
  Output err = Output::Stderr();
  auto server = HttpServer::Open({.config = *std::move(config),
                                  .installation = flags.worker_directory,
                                  .environment = std::move(environment),
                                  .log = [&err](std::string_view line) { err.Write(line); }});
  if (!server) return Fail(server.error(), ExitStatus(server.error().code()));
  *serving.Lock() = server->get();
  if (interrupts.signal() != 0) (*server)->Stop();  // The signal came before the server existed.
  Output::Stdout().Write("listening on " + (*server)->url() + "\n");
  (*server)->Serve();
  *serving.Lock() = nullptr;
  return kExitCompleted;
}

}  // namespace

void AddServeCommand(Command program) {
  Command command = program.AddSubcommand("serve", "Serve runs and approvals over HTTP");
  command.SetFooter(kExamples);
  const auto flags = std::make_shared<ServeFlags>();
  command.AddOption("--config", flags->config,
                    "A configuration file: tools, users, store, mounts, policy, limits",
                    {.value = "FILE"});
  command.AddOption("--listen", flags->listen, "The address to listen on; default 127.0.0.1:8080",
                    {.value = "ADDRESS:PORT"});
  AddTierFlag(command, flags->tier);
  command.AddOption("--worker-dir", flags->worker_directory, "For tests", {.hidden = true});
  command.OnChosen([flags] { return Serve(*flags); });
}

}  // namespace caisson::cli
