// RunProgram runs one of the machine's own programs to its end and gives back what it printed.
//
// It is a plain child without walls, for programs and arguments that are ours; whatever a guest or
// a client has a say in goes through Spawn (spawn.h).
//
// Trust     The program is trusted. Its output is bounded; more than that is an error.
// Threads   Any; blocks until the program has ended or is killed at its deadline.
// Lifetime  Nothing is left behind: the child is reaped on every path.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"

namespace caisson::jail {

struct ProgramSpec {
  std::vector<std::string>
      argv;             // argv[0] is the path of the program. The environment is empty (I1).
  std::string input{};  // What it reads from stdin.
  std::chrono::milliseconds within = std::chrono::seconds(60);
};

struct ProgramResult {
  int status = 0;        // Exit status, or 128 and the signal that killed it.
  std::string output{};  // stdout. stderr is ours.
};

Result<ProgramResult> RunProgram(const ProgramSpec& spec);

}  // namespace caisson::jail
