#include <CLI/CLI.hpp>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/tell.h"
#include "config/config.h"
#include "config/print.h"

namespace caisson::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  caisson config check --config caisson.toml    every mistake, with its line
  caisson config print --config caisson.toml    as it is read, without secrets

Exit status: 0 no mistakes; 2 mistakes, or there is no such file.)";

struct ConfigFlags {
  std::string path = "caisson.toml";
};

Result<std::string> Check(const ConfigFlags& flags) {
  TRY(LoadConfig(flags.path));
  return flags.path + ": no mistakes\n";
}

Result<std::string> Print(const ConfigFlags& flags) {
  TRY(LoadConfig(flags.path));  // Which knows how large one may be.
  std::ifstream file(flags.path, std::ios::binary);
  return PrintConfig(std::string{std::istreambuf_iterator<char>(file), {}}, flags.path);
}

}  // namespace

void AddConfigCommand(CLI::App& program, int& exit_status) {
  auto flags = std::make_shared<ConfigFlags>();  // Shared by the parser and the callbacks.
  CLI::App* command = program.add_subcommand("config", "Check a configuration file, or show it");
  command->footer(kExamples);
  command->require_subcommand(1);
  const auto add = [&](const char* name, const char* what,
                       Result<std::string> (*action)(const ConfigFlags&)) {
    CLI::App* sub = command->add_subcommand(name, what);
    sub->footer(kExamples);
    sub->add_option("--config", flags->path, "The configuration file; by default caisson.toml")
        ->type_name("FILE");
    sub->callback([flags, action, &exit_status] { exit_status = Tell(action(*flags)); });
  };
  add("check", "Say what is wrong with it", Check);
  add("print", "Show it as it is read, without secrets", Print);
}

}  // namespace caisson::cli
