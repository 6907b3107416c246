// The options that `run`, `check`, `repl` and `mcp` have in common, and what they mean.
//
// Trust     The user's. Everything is checked, and told by the name of its option.
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
// --tier, for every command that runs code. `tier` stays empty if it is not given.
void AddTierFlag(Command command, std::string& tier);
// For those who ask the person at the terminal.
void AddApproveFlag(Command command, CodeFlags& flags);

// What the configuration says, and what the command line says in its place. For one lane: a program
// that runs one thing at a time.
Result<CodeServiceOptions> ToServiceOptions(const CodeFlags& flags);

// Fails with kInvalidArgument if --approve is none of ask, all and none.
Result<Approvals> ToApprovals(const CodeFlags& flags);

// Opens the host of a command that runs code. If the configuration names no store that outlives the
// process, the host keeps nothing.
Result<std::unique_ptr<Host>> OpenHost(const CodeFlags& flags, CodeServiceOptions options,
                                       HostOptions::Keeps keeps = HostOptions::Keeps::kNothing);

}  // namespace caisson::cli
