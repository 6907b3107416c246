// Describes a CPython other than the embedded one: where it is, and which of its files a cell must
// see.
//
// Trust     The operator named it. Hostile code can read everything listed here.
// Threads   Values; reads the file system once.
// Lifetime  Values.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace caisson::forkserver {

struct Interpreter {
  std::string program{};  // Without links.
  // The dynamic loader, under the name in the program and with links resolved; empty if the program
  // is static.
  std::string loader_name{};
  std::string loader{};
  std::vector<std::string> modules{};  // Its sys.path.
  std::vector<std::string> trees{};    // Files and directories that it reads.
};

// Returns whether the packages in `prefix` are for the embedded Python.
bool IsForEmbedded(const std::string& prefix);

// Finds the interpreter in `prefix`, which is an installation or a virtual environment.
Result<Interpreter> FindInterpreter(const std::string& prefix);

}  // namespace caisson::forkserver
