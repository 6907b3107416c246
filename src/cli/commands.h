// The commands of the program. Each has a source file of its own with its flags, its help and what it
// does; AddCommands in program.cc lists them all.
//
// Trust     Arguments come from the user.
// Threads   The main thread.
// Lifetime  What a command keeps between parsing and running is owned by its callback.
#pragma once

#include "cli/command.h"

namespace caisson::cli {

// Each adds a subcommand to `program`. Its callback runs it and sets `exit_status`.
void AddRunCommand(Command program, int& exit_status);
void AddCheckCommand(Command program, int& exit_status);
void AddReplCommand(Command program, int& exit_status);
void AddRunsCommand(Command program, int& exit_status);
void AddApprovalsCommand(Command program, int& exit_status);
void AddAuditCommand(Command program, int& exit_status);
void AddServeCommand(Command program, int& exit_status);
void AddMcpCommand(Command program, int& exit_status);
void AddConfigCommand(Command program, int& exit_status);
void AddDoctorCommand(Command program, int& exit_status);
void AddBenchCommand(Command program, int& exit_status);

// Parses the arguments, runs the command, returns the exit status.
int RunProgram(int argc, const char* const* argv);

}  // namespace caisson::cli
