// The commands of the program. Each has its own source file with its flags, its help and its
// action. AddCommands in program.cc lists them all.
//
// Trust     Arguments come from the user.
// Threads   The main thread.
// Lifetime  The callback of a command owns its data between parsing and running.
#pragma once

#include "cli/command.h"

namespace caisson::cli {

// Each adds a subcommand to `program`.
void AddRunCommand(Command program);
void AddCheckCommand(Command program);
void AddReplCommand(Command program);
void AddRunsCommand(Command program);
void AddApprovalsCommand(Command program);
void AddAuditCommand(Command program);
void AddServeCommand(Command program);
void AddChatCommand(Command program);
void AddMcpCommand(Command program);
void AddConfigCommand(Command program);
void AddDoctorCommand(Command program);
void AddBenchCommand(Command program);
void AddWorkflowCommand(Command program);

// Parses the arguments, runs the command, returns the exit status.
int RunProgram(int argc, const char* const* argv);

}  // namespace caisson::cli
