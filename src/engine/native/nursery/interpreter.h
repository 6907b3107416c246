// A CPython other than the one we are linked with: where it is, and what of it a cell has to see.
//
// Trust     The operator's, as named. Everything listed here is readable to hostile code.
// Threads   Values; looks at the file system once.
// Lifetime  Values.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace caisson::nursery {

struct Interpreter {
  std::string program{};  // Without links.
  // What the kernel starts it with, as the program names it and without links; empty if it is linked statically.
  std::string loader_name{};
  std::string loader{};
  std::vector<std::string> modules{};  // Its sys.path.
  std::vector<std::string> trees{};    // Files and directories that it reads.
};

// Whether the packages in `prefix` are for the Python we are linked with.
bool IsForEmbedded(const std::string& prefix);

// The one in `prefix`: an installation, or a virtual environment made with one.
Result<Interpreter> FindInterpreter(const std::string& prefix);

}  // namespace caisson::nursery
