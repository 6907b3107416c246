// The commands of the program. Each has a source file of its own with its flags, its help and what it
// does; AddCommands in program.cc lists them all.
//
// Trust     Arguments come from the user.
// Threads   The main thread.
// Lifetime  What a command keeps between parsing and running is owned by its callback.
#pragma once

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's own name.
class App;
}  // namespace CLI

namespace caisson::cli {

// Each adds a subcommand to `program`. Its callback runs it and sets `exit_status`.
void AddRunCommand(CLI::App& program, int& exit_status);
void AddCheckCommand(CLI::App& program, int& exit_status);
void AddReplCommand(CLI::App& program, int& exit_status);
void AddRunsCommand(CLI::App& program, int& exit_status);
void AddApprovalsCommand(CLI::App& program, int& exit_status);
void AddAuditCommand(CLI::App& program, int& exit_status);
void AddServeCommand(CLI::App& program, int& exit_status);
void AddMcpCommand(CLI::App& program, int& exit_status);
void AddConfigCommand(CLI::App& program, int& exit_status);
void AddDoctorCommand(CLI::App& program, int& exit_status);
void AddBenchCommand(CLI::App& program, int& exit_status);

// Parses the arguments, runs the command, returns the exit status.
int RunProgram(int argc, const char* const* argv);

}  // namespace caisson::cli
