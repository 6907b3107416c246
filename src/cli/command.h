// A Command is one command of the program, or a subcommand of another one: its help, its flags and
// its action.
//
//   Command greet = program.AddSubcommand("greet", "Say hello");
//   greet.AddOption("NAME", flags->name, "Whom", {.required = true});
//   greet.AddFlag("--loud", flags->loud, "In capitals");
//   greet.OnChosen([flags] { return Greet(*flags); });
//
// CLI11 does the work and stays in command.cc: its header takes ten seconds to compile.
//
// Trust     Arguments come from the user. Run returns their mistakes. Two flags with one name are
//           our own bug, for which CLI11 throws.
// Threads   The main thread.
// Lifetime  A CommandLine owns all its commands; a Command is a handle. Variables that a command
//           sets must live until the command has run, so its callback should own them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's own name.
class App;
}  // namespace CLI

namespace caisson::cli {

// Optional properties of a flag or an option.
struct OptionTraits {
  std::string_view value = {};     // Its value's name in help: FILE in `--config FILE`.
  std::string_view excludes = {};  // An earlier option that cannot be given with it.
  bool required = false;
  bool show_default = false;  // Help shows the variable's initial value.
  bool hidden = false;        // Help does not mention it.
};

class Command {
 public:
  Command AddSubcommand(std::string_view name, std::string_view help);
  // Makes Run fail if no subcommand is given.
  void RequireSubcommand();

  // Sets the last part of the help text.
  void SetFooter(std::string_view text);

  // Adds `--name`, which sets `variable` to true.
  void AddFlag(std::string_view name, bool& variable, std::string_view help,
               const OptionTraits& traits = {});

  // Adds `--name VALUE`, or a positional VALUE if the name has no dashes. The variable keeps its
  // value if the option is not given. A vector takes one value each time the option is given; the
  // other types accept the option once.
  void AddOption(std::string_view name, std::string& variable, std::string_view help,
                 const OptionTraits& traits = {});
  void AddOption(std::string_view name, std::optional<std::string>& variable, std::string_view help,
                 const OptionTraits& traits = {});
  void AddOption(std::string_view name, std::vector<std::string>& variable, std::string_view help,
                 const OptionTraits& traits = {});
  void AddOption(std::string_view name, std::int64_t& variable, std::string_view help,
                 const OptionTraits& traits = {});

  // `run` is called if the command line is valid and names this command. It returns the exit
  // status.
  void OnChosen(std::function<int()> run);

 private:
  friend class CommandLine;
  Command(CLI::App& app, int& exit_status) : app_(&app), exit_status_(&exit_status) {}

  CLI::App* app_;  // Never null, like the next member.
  int* exit_status_;
};

struct ProgramTexts {
  std::string name;
  std::string description;
  std::string footer;
  std::string version;  // What --version prints.
};

// The program as a command: it has --help, --version and subcommands.
class CommandLine {
 public:
  explicit CommandLine(const ProgramTexts& texts);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  Command program();

  // Runs the chosen command and returns its exit status, or returns the text of --help or
  // --version. Fails if the arguments are wrong. Exceptions of the command pass through.
  using Ran = std::variant<int, std::string>;
  Result<Ran> Run(int argc, const char* const* argv);

 private:
  int exit_status_ = 0;
  std::unique_ptr<CLI::App> app_;
};

}  // namespace caisson::cli
