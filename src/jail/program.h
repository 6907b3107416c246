// A Program is one of the operator's own programs, run as a plain child without walls: with its own
// process group and no terminal, exactly the given environment (I1), its input in a file or a pipe
// and its output in a pipe.
//
//   RunProgram({.argv = {"/bin/date"}})        blocks until it has ended and returns its output
//   Program::Start({.argv = {...}})            returns at once; output() and ended() are for an
//   event loop
//
// If a guest or a client controls more than the input, use Spawn (spawn.h).
//
// Trust     The program is the operator's; its input may come from an attacker; its output is
//           unchecked. It may hang, daemonise and flood. When a Program is over, no process of it
//           is left (minder.h).
// Threads   Any thread may start one; it does not depend on that thread. A Program is used by one
//           thread at a time.
// Lifetime  Owned. The destructor kills a running program and returns when it is gone and reaped.
//           If our process dies first, the program is killed too.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "caller/child_environment.h"
#include "jail/program_starter.h"
#include "jail/spawn_process.h"

namespace caisson::jail {

enum class InputFrom { kText, kPipe };    // stdin: the given text, or the data written to input().
enum class ErrorOutput { kOurs, kPipe };  // stderr: the same as ours, or a pipe, see log().

struct ProgramSpec {
  // argv[0] is a path, or a name to look up in the PATH of `environment`.
  std::vector<std::string> argv;
  std::string input{};  // The complete content of stdin.
  InputFrom input_from = InputFrom::kText;
  ChildEnvironment environment{};
  std::string directory{};  // Working directory, also for a relative path in argv[0]. Empty: ours.
  ErrorOutput errors = ErrorOutput::kOurs;
  ProgramStarter* starter = nullptr;  // Creates the process. Null: it is a copy of this process.
  std::chrono::milliseconds within = std::chrono::seconds(60);  // For RunProgram.
};

class Program {
 public:
  // Fails only for errors on our side. If the program does not exist, Wait() fails.
  static Result<Program> Start(const ProgramSpec& spec);
  Program(Program&&) = default;
  Program& operator=(Program&&) = delete;
  ~Program();

  // The write end of its stdin, if requested; non-blocking. Close it to signal the end of the
  // input.
  UniqueFd& input() { return input_; }
  // The read ends of its stdout and, if requested, stderr; non-blocking.
  UniqueFd& output() { return output_; }
  UniqueFd& log() { return log_; }
  // Becomes readable when the program and all processes it left behind are gone. Wait() then does
  // not block.
  const UniqueFd& ended() const { return minder_.pidfd(); }

  void Kill() const;
  // Blocks until the program is gone. Fails if it could not be run.
  Result<Exit> Wait();

 private:
  Program(std::string name, Child minder, UniqueFd control, UniqueFd input, UniqueFd output,
          UniqueFd log);

  std::string name_;
  Child minder_;
  UniqueFd control_;  // Closing it ends the program. The final report arrives here.
  UniqueFd input_;
  UniqueFd output_;
  UniqueFd log_;
};

struct ProgramResult {
  int status = 0;        // Exit status, or 128 plus the signal that killed it.
  std::string output{};  // stdout.
};

// Runs a program to its end. Fails if the output exceeds its bound.
Result<ProgramResult> RunProgram(const ProgramSpec& spec);

}  // namespace caisson::jail
