// Command makes a tool's body of a program: the arguments are a JSON object on its stdin, its result is the JSON
// on its stdout (nothing at all is None), its stderr goes to the log.
//
//   Tool::Make({.name = "send", .input_schema = schema},
//              Command({.argv = {"./send.py"}, .directory = "/srv/tools"}, io, log));
//
// A program that fails says why on stdout; with a status other than 0 that text is the message of the ToolError.
// One that hangs, crashes, prints no JSON or too much of it, leaves daemons or does not read its input gives a
// ToolError as well, and is gone with all its processes when the call is over.
//
// A call for a session has that session's variables in its environment, and one that may be made again has
// CAISSON_IDEMPOTENCY_KEY.
//
// Trust     The program and its environment are the operator's (I1); arguments were checked against the schema and
//           never become part of argv. What it prints is bounded and parsed strictly. Errors that name files of
//           the host are for the log, not for the code.
// Threads   Calls come from any executor and work on `io`, on a strand of their own; `log` is called there.
// Lifetime  `io` must run, and `host` stay, until the last call is over. Cancelling a call kills the program.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "context/child_environment.h"
#include "tools/body.h"

namespace caisson {

struct CommandSpec {
  std::vector<std::string> argv;
  std::string directory{};  // Where it starts, and what a relative argv[0] is relative to.
  ChildVariables variables{.inherit = {}};
  SessionHost* host =
      nullptr;  // What it inherits from; without one it has its own variables alone.
  std::size_t max_output_bytes = 8u << 20;
  std::size_t max_log_bytes = 64u << 10;  // For each call; the rest is dropped.
};

// Pieces of what a command wrote to stderr, and what we have to say about it.
using CommandLog = std::function<void(std::string_view text)>;

ToolBody Command(CommandSpec spec, asio::any_io_executor io, CommandLog log);

}  // namespace caisson
