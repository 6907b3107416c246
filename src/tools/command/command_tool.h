// Command makes a tool's body from a program. The arguments are a JSON object on its stdin; its
// result is the JSON on its stdout (no output is None); its stderr goes to the log.
//
//   Tool::Make({.name = "send", .input_schema = schema},
//              Command({.argv = {"./send.py"}, .directory = "/srv/tools"}, io, log));
//
// A program that fails prints the reason on stdout and exits with a status other than 0; that text
// is the message of the ToolError. A program that hangs, crashes, prints invalid or too much JSON,
// leaves daemons or does not read its input also gives a ToolError. All its processes are gone when
// the call has ended.
//
// A call for a session has that session's variables in its environment. A call that may be repeated
// has CAISSON_IDEMPOTENCY_KEY.
//
// Trust     The program and its environment are the operator's (I1). Arguments were checked against
//           the schema and never become part of argv. Output is bounded and parsed strictly. Errors
//           that name files of the host go to the log, not to the code.
// Threads   Calls come from any executor and work on `io`, on their own strand; `log` is called
//           there.
// Lifetime  `io` must run, and `host` exist, until the last call has ended. Cancelling a call kills
//           the program.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "caller/child_environment.h"
#include "jail/program_starter.h"
#include "tools/body.h"

namespace caisson {

struct CommandSpec {
  std::vector<std::string> argv;
  std::string directory{};  // The working directory; a relative argv[0] is relative to it.
  ChildVariables variables{.inherit = {}};
  CallerHost* host =
      nullptr;  // The environment to inherit from; null: the program has only its own variables.
  // Shared by all commands. Creates their processes; null: they are copies of this process.
  std::shared_ptr<jail::ProgramStarter> starter{};
  std::size_t max_output_bytes = 8u << 20;
  std::size_t max_log_bytes = 64u << 10;  // For each call; the rest is dropped.
};

// Receives pieces of a command's stderr, and messages about the command.
using CommandLog = std::function<void(std::string_view text)>;

ToolBody Command(CommandSpec spec, asio::any_io_executor io, CommandLog log);

}  // namespace caisson
