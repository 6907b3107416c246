#include <CLI/CLI.hpp>
#include <exception>
#include <string>

#include "cli/commands.h"
#include "cli/exit_status.h"
#include "cli/output.h"
#include "server/version.h"

namespace caisson::cli {
namespace {

constexpr const char* kDescription =
    "Caisson runs Python that a model wrote: real CPython, fresh for every run, in a process that can\n"
    "reach neither your files nor your network.";

constexpr const char* kExamples =
    "Examples:\n"
    "  echo 'print(\"hi\"); 6*7' | caisson run         prints hi, then 42\n"
    "  caisson run --json task.py                    how it ended, as one line of JSON\n"
    "  caisson run --limit wall_seconds=60 task.py   more time than the usual ten seconds\n"
    "  caisson doctor                                what protects you on this machine, and what does not\n"
    "\n"
    "Exit status: 0 completed; 1 the code failed, was refused or hit a limit; 2 usage or configuration;\n"
    "70 a fault of Caisson itself; 130 and 143 when interrupted. `caisson COMMAND --help` tells more.";

void AddCommands(CLI::App& program, int& exit_status) {
  AddRunCommand(program, exit_status);
  AddDoctorCommand(program, exit_status);
}

// CLI11 says what was wrong, then wants help to be looked for; all of it to stderr, exit status 2.
int UsageError(const CLI::ParseError& error) {
  Output::Stderr().Write("caisson: " + std::string(error.what()) +
                         "\nTry `caisson --help` or `caisson run --help`.\n");
  return kExitUsage;
}

int Parse(CLI::App& program, int argc, const char* const* argv) {
  try {
    program.parse(argc, argv);
  } catch (const CLI::Success& done) {  // --help, --version
    std::ostringstream text;
    program.exit(done, text, text);
    Output out = Output::Stdout();
    out.Write(text.str());
    return out.failed() == 0 ? kExitCompleted : kExitUsage;
  } catch (const CLI::ParseError& error) {
    return UsageError(error);
  }
  return kExitCompleted;
}

}  // namespace

int RunProgram(int argc, const char* const* argv) {
  PrepareStandardStreams();
  int exit_status = kExitCompleted;
  try {
    CLI::App program(kDescription, "caisson");
    program.footer(kExamples);
    program.set_version_flag("--version", "caisson " + std::string(Version()));
    program.require_subcommand(1);
    AddCommands(program, exit_status);
    const int parsed = Parse(program, argc, argv);
    return parsed != kExitCompleted ? parsed : exit_status;
  } catch (const std::exception& error) {
    Output::Stderr().Write(std::string("caisson: internal error: ") + error.what() + "\n");
    return kExitOurFault;
  }
}

}  // namespace caisson::cli
