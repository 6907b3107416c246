// The options that `run`, `check`, `repl` and `mcp` share, and their effects.
//
// Trust     Values come from the user and are checked. Errors name the option.
// Threads   The main thread.
// Lifetime  Values.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command.h"
#include "runs/run_service.h"
#include "server/code_service.h"
#include "server/host.h"

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
// The same for a configuration that is already loaded.
Result<CodeServiceOptions> ToServiceOptions(const CodeFlags& flags, const Config& config);

// Fails with kInvalidArgument if --approve is none of ask, all and none.
Result<Approvals> ToApprovals(const CodeFlags& flags);

// Opens the host of a command that runs code. If the configuration names no store that outlives the
// process, the host keeps nothing.
Result<std::unique_ptr<Host>> OpenHost(const CodeFlags& flags, CodeServiceOptions options,
                                       HostOptions::Keeps keeps = HostOptions::Keeps::kNothing);

}  // namespace caisson::cli
