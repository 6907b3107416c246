#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/tell.h"
#include "config/config.h"
#include "config/print.h"
#include "server/config_checks.h"

namespace caisson::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  caisson config check --config caisson.toml    every mistake, with its line
  caisson config print --config caisson.toml    as Caisson reads it, without secrets

Exit status: 0 no mistakes; 2 mistakes, or there is no such file.)";

struct ConfigFlags {
  std::string path = "caisson.toml";
};

Result<std::string> Check(const ConfigFlags& flags) {
  TRY(LoadConfig(flags.path, ChecksOfAStart()));
  return flags.path + ": no mistakes\n";
}

Result<std::string> Print(const ConfigFlags& flags) {
  TRY(LoadConfig(flags.path));  // It bounds the size of the file.
  std::ifstream file(flags.path, std::ios::binary);
  return PrintConfig(std::string{std::istreambuf_iterator<char>(file), {}}, flags.path);
}

}  // namespace

void AddConfigCommand(Command program) {
  auto flags = std::make_shared<ConfigFlags>();  // Shared by the parser and the callbacks.
  Command command = program.AddSubcommand("config", "Check or print a configuration file");
  command.SetFooter(kExamples);
  command.RequireSubcommand();
  const auto add = [&](const char* name, const char* what,
                       Result<std::string> (*action)(const ConfigFlags&)) {
    Command sub = command.AddSubcommand(name, what);
    sub.SetFooter(kExamples);
    sub.AddOption("--config", flags->path, "The configuration file; by default caisson.toml",
                  {.value = "FILE"});
    sub.OnChosen([flags, action] { return Tell(action(*flags)); });
  };
  add("check", "List every mistake with its line", Check);
  add("print", "Show it as Caisson reads it, without secrets", Print);
}

}  // namespace caisson::cli
