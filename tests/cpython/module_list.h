// The list of CPython's test modules that have to pass, and what is left out of each for a reason.
//
//   test_bisect quick               a module; `quick` ones run under a sanitizer, too
//       TestClass.test_name  why    left out: a pattern over the end of a test's name, the reason
//
// Trust     Ours.
// Threads   Values.
// Lifetime  Values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace caisson::cpython {

struct LeftOut {
  std::string pattern;
  std::string reason;
};

struct TestModule {
  std::string name;
  bool quick = false;
  std::vector<LeftOut> left_out{};
};

// An error names the line that makes no sense; a pattern without a reason is one.
Result<std::vector<TestModule>> ParseModuleList(std::string_view text);

}  // namespace caisson::cpython
