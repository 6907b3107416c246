// The options that `run`, `check`, `repl` and `mcp` share, and their effects.
//
// Trust     Values come from the user and are checked. Errors name the option.
// Threads   The main thread.
// Lifetime  Values.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command.h"
#include "cli/terminal_question.h"
#include "runs/cells/code_runner.h"
#include "server/code_service.h"

namespace caisson::cli {

struct CodeFlags {
  std::string config;
  std::string policy;
  std::vector<std::string> limits;
  std::vector<std::string> mounts;
  std::vector<std::string> environment;
  std::string engine;
  std::string tier;  // Empty: [engine] tier, or the default.
  std::string approve = "ask";
  std::string worker_directory;
};

void AddCodeFlags(Command command, CodeFlags& flags);
// Adds --tier, for commands that run code. `tier` stays empty if the option is not given.
void AddTierFlag(Command command, std::string& tier);
// Adds --approve, for commands that can ask the person at the terminal.
void AddApproveFlag(Command command, CodeFlags& flags);

// Merges the configuration and the command line; the command line wins. Uses one lane, because
// these programs run one piece of code at a time.
Result<CodeServiceOptions> ToServiceOptions(const CodeFlags& flags);

// Returns the gate that --approve selects. `ask` asks the person at the terminal with `question` on
// the thread of `executor`; calls are denied if there is no terminal.
Result<ToolGate> ToGate(const CodeFlags& flags, TerminalQuestion& question,
                        const asio::any_io_executor& executor);

}  // namespace caisson::cli
