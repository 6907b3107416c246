// The list of CPython's test modules that must pass, and the tests excluded from each with the
// reason.
//
//   test_bisect quick               a module; `quick` ones run with a sanitizer, too
//       TestClass.test_name  why    excluded: a pattern over the end of a test's name, the reason
//
// Trust     Trusted test data.
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

// Fails and names the first invalid line; a pattern without a reason is invalid.
Result<std::vector<TestModule>> ParseModuleList(std::string_view text);

}  // namespace caisson::cpython
