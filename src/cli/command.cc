#include "cli/command.h"

#include <CLI/CLI.hpp>
#include <sstream>
#include <utility>

namespace caisson::cli {
namespace {

void Apply(const OptionTraits& traits, CLI::Option& option) {
  if (!traits.value.empty()) option.type_name(std::string(traits.value));
  if (!traits.excludes.empty()) option.excludes(std::string(traits.excludes));
  if (traits.required) option.required();
  if (traits.show_default) option.capture_default_str();
  if (traits.hidden) option.group("");
}

template <typename Variable>
CLI::Option& Add(CLI::App& app, std::string_view name, Variable& variable, std::string_view help,
                 const OptionTraits& traits) {
  CLI::Option* option = app.add_option(std::string(name), variable, std::string(help));
  Apply(traits, *option);
  return *option;
}

}  // namespace

Command Command::AddSubcommand(std::string_view name, std::string_view help) {
  return Command(*app_->add_subcommand(std::string(name), std::string(help)), *exit_status_);
}

void Command::RequireSubcommand() {
  app_->require_subcommand(1);
}

void Command::SetFooter(std::string_view text) {
  app_->footer(std::string(text));
}

void Command::AddFlag(std::string_view name, bool& variable, std::string_view help,
                      const OptionTraits& traits) {
  Apply(traits, *app_->add_flag(std::string(name), variable, std::string(help)));
}

void Command::AddOption(std::string_view name, std::string& variable, std::string_view help,
                        const OptionTraits& traits) {
  Add(*app_, name, variable, help, traits);
}

void Command::AddOption(std::string_view name, std::optional<std::string>& variable,
                        std::string_view help, const OptionTraits& traits) {
  Add(*app_, name, variable, help, traits);
}

// With extra values allowed, `--limit a=1 task.py` would take the file as a second limit.
void Command::AddOption(std::string_view name, std::vector<std::string>& variable,
                        std::string_view help, const OptionTraits& traits) {
  Add(*app_, name, variable, help, traits).allow_extra_args(false);
}

void Command::AddOption(std::string_view name, std::int64_t& variable, std::string_view help,
                        const OptionTraits& traits) {
  Add(*app_, name, variable, help, traits);
}

void Command::OnChosen(std::function<int()> run) {
  app_->callback([run = std::move(run), status = exit_status_] { *status = run(); });
}

CommandLine::CommandLine(const ProgramTexts& texts)
    : app_(std::make_unique<CLI::App>(texts.description, texts.name)) {
  app_->footer(texts.footer);
  app_->set_version_flag("--version", texts.version);
  app_->require_subcommand(0, 1);  // Run reports a missing one, after unknown words.
}

CommandLine::~CommandLine() = default;

Command CommandLine::program() {
  return Command(*app_, exit_status_);
}

Result<CommandLine::Ran> CommandLine::Run(int argc, const char* const* argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::Success& done) {  // --help, --version
    std::ostringstream text;
    app_->exit(done, text, text);
    return Ran(text.str());
  } catch (const CLI::ParseError& error) {
    return Error(ErrorCode::kInvalidArgument, error.what());
  }
  if (app_->get_subcommands().empty()) {
    return Error(ErrorCode::kInvalidArgument, "no command is given");
  }
  return Ran(exit_status_);
}

}  // namespace caisson::cli
