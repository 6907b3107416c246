// A Command is what follows the program's name, or another command's: its help, its flags and what
// it does.
//
//   Command greet = program.AddSubcommand("greet", "Say hello");
//   greet.AddOption("NAME", flags->name, "Whom", {.required = true});
//   greet.AddFlag("--loud", flags->loud, "In capitals");
//   greet.OnChosen([flags] { return Greet(*flags); });
//
// CLI11 does the work and stays in command.cc: its header takes ten seconds to compile.
//
// Trust     Arguments come from the user. What is wrong with them Parse returns; two flags of one
//           name are a bug of ours, for which CLI11 throws.
// Threads   The main thread.
// Lifetime  A CommandLine owns all its commands; a Command is a handle on one. Variables that a
//           command fills in must live until it has run: what owns them is best kept by its
//           callback.
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

// What is seldom said about a flag or an option.
struct OptionTraits {
  std::string_view value = {};     // What help calls its value: FILE in `--config FILE`.
  std::string_view excludes = {};  // Another, added before, that cannot be given with it.
  bool required = false;
  bool show_default = false;  // Help tells what the variable holds beforehand.
  bool hidden = false;        // Help does not mention it.
};

class Command {
 public:
  Command AddSubcommand(std::string_view name, std::string_view help);
  // One of the subcommands has to be given.
  void RequireSubcommand();

  // What help says at its end.
  void SetFooter(std::string_view text);

  // `--name`, which sets a variable.
  void AddFlag(std::string_view name, bool& variable, std::string_view help,
               const OptionTraits& traits = {});

  // `--name VALUE`, or a VALUE by its place if the name has no dashes. A variable stays as it is if
  // there is none. A vector takes one for each time that the option is given; the others want it
  // given once.
  void AddOption(std::string_view name, std::string& variable, std::string_view help,
                 const OptionTraits& traits = {});
  void AddOption(std::string_view name, std::optional<std::string>& variable, std::string_view help,
                 const OptionTraits& traits = {});
  void AddOption(std::string_view name, std::vector<std::string>& variable, std::string_view help,
                 const OptionTraits& traits = {});
  void AddOption(std::string_view name, std::int64_t& variable, std::string_view help,
                 const OptionTraits& traits = {});

  // Runs when the whole line was understood and this command is in it; returns the exit status.
  void OnChosen(std::function<int()> run);

 private:
  friend class CommandLine;
  Command(CLI::App& app, int& exit_status) : app_(&app), exit_status_(&exit_status) {}

  CLI::App* app_;  // Neither is ever null.
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

  // Runs the chosen command and returns its exit status; what it throws goes through. Or else: the
  // text that --help or --version asks for, or what is wrong with the arguments.
  using Ran = std::variant<int, std::string>;
  Result<Ran> Run(int argc, const char* const* argv);

 private:
  int exit_status_ = 0;
  std::unique_ptr<CLI::App> app_;
};

}  // namespace caisson::cli
