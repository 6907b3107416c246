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
#include "server/demo.h"
#include "server/http_server.h"

namespace caisson::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  caisson serve                                   for you alone, on http://127.0.0.1:8080
  caisson serve --listen 127.0.0.1:0              on a free port; the first line names it
  caisson serve --config caisson.toml             with the tools, users and store of a configuration
  caisson serve --demo                            with a scripted agent, to try agents without a model

The first line on stdout names the address. Failures are written to stderr as lines of JSON.
After SIGTERM or Ctrl-C the server finishes its requests and puts waiting runs to sleep. A second
signal ends it at once.)";

struct ServeFlags {
  std::string config;
  std::string listen;
  std::string tier;
  std::string worker_directory;
  bool demo = false;
};

Result<Config> ToConfig(const ServeFlags& flags) {
  Config config;
  if (!flags.config.empty()) {
    TRY_ASSIGN(config, LoadConfig(flags.config));
  }
  if (!flags.listen.empty()) config.server.listen = flags.listen;
  if (!flags.tier.empty()) config.engine.tier = flags.tier;
  if (flags.demo) TRY(AddDemo(config));
  return config;
}

// Text that a person can paste to talk to the demo.
std::string DemoHints(const std::string& url) {
  return "\nThe agent \"demo\" answers without a model. Its tool send_email needs an approval and "
         "sends "
         "nothing. Try:\n\n"
         "curl -s " +
         url +
         "/v1/responses -H 'Content-Type: application/json' \\\n"
         "  -d '{\"model\": \"demo\", \"input\": \"compute the first Fibonacci numbers\"}'\n\n"
         "With the openai package (npm install openai), in a file demo.mjs:\n\n"
         "import OpenAI from \"openai\";\n"
         "const client = new OpenAI({ baseURL: \"" +
         url +
         "/v1\", apiKey: \"not needed\" });\n"
         "const response = await client.responses.create({ model: \"demo\", "
         "input: \"compute the first Fibonacci numbers\" });\n"
         "console.log(response.output_text);\n\n";
}

int Fail(const Error& error, int exit_status) {
  Output::Stderr().Write("caisson: " + error.message() + "\n");
  return exit_status;
}

int Serve(const ServeFlags& flags) {
  auto config = ToConfig(flags);
  if (!config) return Fail(config.error(), kExitUsage);
  std::vector<std::shared_ptr<const Tool>> tools;
  if (flags.demo) {
    auto made = DemoTools();
    if (!made) return Fail(made.error(), kExitOurFault);
    tools = *std::move(made);
  }
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
                                  .log = [&err](std::string_view line) { err.Write(line); },
                                  .tools = std::move(tools)});
  if (!server) return Fail(server.error(), ExitStatus(server.error().code()));
  *serving.Lock() = server->get();
  if (interrupts.signal() != 0) (*server)->Stop();  // The signal came before the server existed.
  Output::Stdout().Write("listening on " + (*server)->url() + "\n" +
                         (flags.demo ? DemoHints((*server)->url()) : ""));
  (*server)->Serve();
  *serving.Lock() = nullptr;
  return kExitCompleted;
}

}  // namespace

void AddServeCommand(Command program) {
  Command command = program.AddSubcommand("serve", "Serve runs, approvals and agents over HTTP");
  command.SetFooter(kExamples);
  const auto flags = std::make_shared<ServeFlags>();
  command.AddOption("--config", flags->config,
                    "A configuration file: tools, users, store, mounts, policy, limits",
                    {.value = "FILE"});
  command.AddOption("--listen", flags->listen, "The address to listen on; default 127.0.0.1:8080",
                    {.value = "ADDRESS:PORT"});
  command.AddFlag("--demo", flags->demo,
                  "Add a scripted agent with two harmless tools; in memory unless a store is "
                  "configured");
  AddTierFlag(command, flags->tier);
  command.AddOption("--worker-dir", flags->worker_directory, "For tests", {.hidden = true});
  command.OnChosen([flags] { return Serve(*flags); });
}

}  // namespace caisson::cli
