#include <exception>
#include <string>

#include "cli/command.h"
#include "cli/commands.h"
#include "cli/exit_status.h"
#include "cli/output.h"
#include "cli/tell.h"
#include "server/version.h"

namespace caisson::cli {
namespace {

constexpr const char* kDescription =
    R"(Caisson runs Python that a model wrote: real CPython, fresh for every run, in a process that
can reach neither your files nor your network.)";

constexpr const char* kExamples = R"(Examples:
  echo 'print("hi"); 6*7' | caisson run         prints hi, then 42
  caisson run --json task.py                    the outcome as one line of JSON
  caisson run --limit wall_seconds=60 task.py   more time than the default ten seconds
  caisson check task.py                         whether it would run, and in which engine
  caisson repl                                  a session at the terminal
  caisson approvals list                        calls that wait for your approval
  caisson workflow run report.toml              a graph of steps that can wait for people
  caisson serve                                 runs, approvals and agents over HTTP
  caisson chat --demo                           talk to an agent
  caisson mcp                                   execute_code for an MCP client
  caisson config check                          find mistakes in caisson.toml
  caisson doctor                                the walls of this machine

Exit status: 0 completed; 1 the code failed, was refused or hit a limit; 2 wrong usage or
configuration; 3 the run waits for an approval; 70 an internal error; 130 and 143 interrupted.
`caisson COMMAND --help` has the details of a command.)";

void AddCommands(Command program) {
  AddRunCommand(program);
  AddCheckCommand(program);
  AddReplCommand(program);
  AddRunsCommand(program);
  AddApprovalsCommand(program);
  AddWorkflowCommand(program);
  AddAuditCommand(program);
  AddServeCommand(program);
  AddChatCommand(program);
  AddMcpCommand(program);
  AddConfigCommand(program);
  AddDoctorCommand(program);
  AddBenchCommand(program);
}

int UsageError(const std::string& what) {
  Output::Stderr().Write("caisson: " + what +
                         "\nTry `caisson --help` or `caisson COMMAND --help`.\n");
  return kExitUsage;
}

}  // namespace

int RunProgram(int argc, const char* const* argv) {
  PrepareStandardStreams();
  try {
    CommandLine line({.name = "caisson",
                      .description = kDescription,
                      .footer = kExamples,
                      .version = "caisson " + std::string(Version())});
    AddCommands(line.program());
    const auto ran = line.Run(argc, argv);
    if (!ran) return UsageError(ran.error().message());
    const auto* text = std::get_if<std::string>(&*ran);
    return text != nullptr ? Tell(*text) : std::get<int>(*ran);
  } catch (const std::exception& error) {
    Output::Stderr().Write(std::string("caisson: internal error: ") + error.what() + "\n");
    return kExitOurFault;
  }
}

}  // namespace caisson::cli
