// A Program is one of the operator's own programs, run as a plain child without walls: with its own session,
// exactly the environment it was given (I1), its input in a file or a pipe and its output in a pipe.
//
//   RunProgram({.argv = {"/bin/date"}})        blocks until it has ended and gives what it printed
//   Program::Start({.argv = {...}})            returns at once; output() and ended() are for an event loop
//
// Whatever a guest or a client has a say in beyond the input goes through Spawn (spawn.h).
//
// Trust     The program is the operator's, its input may be an attacker's, its output is whatever it is. It may
//           hang, daemonise and flood; when a Program is over no process of it is left (minder.h).
// Threads   Any thread may start one; it does not depend on that thread. A Program is used by one at a time.
// Lifetime  Owned. The destructor kills what still runs and returns when it is gone and reaped. If we die first,
//           it is killed all the same.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "context/child_environment.h"
#include "jail/spawn.h"

namespace caisson::jail {

enum class InputFrom {
  kText,
  kPipe
};  // What stdin is: the given text, or what is written to input().
enum class ErrorOutput { kOurs, kPipe };  // Where stderr goes: where ours does, or into log().

struct ProgramSpec {
  // argv[0] is a path, or a name to look for in the PATH of `environment`.
  std::vector<std::string> argv;
  std::string input{};  // What it reads from stdin, and then its end.
  InputFrom input_from = InputFrom::kText;
  ChildEnvironment environment{};
  std::string directory{};  // Where it starts; relative paths of argv[0] too. Empty: where we are.
  ErrorOutput errors = ErrorOutput::kOurs;
  std::chrono::milliseconds within = std::chrono::seconds(60);  // For RunProgram.
};

class Program {
 public:
  // Fails on what is ours to get wrong; that there is no such program comes out of Wait().
  static Result<Program> Start(const ProgramSpec& spec);
  Program(Program&&) = default;
  Program& operator=(Program&&) = delete;
  ~Program();

  // The write end of its stdin, if asked for; non-blocking. Closing it is what its reader sees as the end.
  UniqueFd& input() { return input_; }
  // The read ends of its stdout and, if asked for, stderr; non-blocking.
  UniqueFd& output() { return output_; }
  UniqueFd& log() { return log_; }
  // Becomes readable when the program and all it left behind are gone. Wait() then does not block.
  const UniqueFd& ended() const { return minder_.pidfd(); }

  void Kill() const;
  // Blocks until it is gone. An error if it could not be run.
  Result<Exit> Wait();

 private:
  Program(std::string name, Child minder, UniqueFd control, UniqueFd input, UniqueFd output,
          UniqueFd log);

  std::string name_;
  Child minder_;
  UniqueFd control_;  // Closing it is what ends the program. Its last word comes here.
  UniqueFd input_;
  UniqueFd output_;
  UniqueFd log_;
};

struct ProgramResult {
  int status = 0;        // Exit status, or 128 and the signal that killed it.
  std::string output{};  // stdout.
};

// Its output is bounded; more than that is an error.
Result<ProgramResult> RunProgram(const ProgramSpec& spec);

}  // namespace caisson::jail
