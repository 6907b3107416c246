// A ChildEnvironment is what a child process finds in its environment. Whoever starts one takes this type,
// and Build is the only way to fill it: from empty, by name (I1).
//
//   TRY_ASSIGN(auto environment, ChildEnvironment::Build({.inherited = {"PATH", "LANG"},
//                                                         .set = {{"MODE", "live"}}}, host));
//
// Trust     Recipes are the operator's. Nothing of the host's environment, where secrets live, passes unless
//           it is named. What changes how a program is loaded is never inherited, only set in so many words.
// Threads   Values. TakeHostVariables reads what setenv could change: once, at start-up.
// Lifetime  A value.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace caisson {

using HostVariables = std::map<std::string, std::string>;

// This process's own environment.
HostVariables TakeHostVariables();

class ChildEnvironment {
 public:
  struct Recipe {
    std::vector<std::string> inherited{};  // Names. One that the host does not have is left out.
    std::vector<std::pair<std::string, std::string>> set{};  // Wins over what is inherited.
  };

  ChildEnvironment() = default;  // Empty.
  // Refuses names and values that no environment can hold, and names that are set twice.
  static Result<ChildEnvironment> Build(const Recipe& recipe, const HostVariables& host);

  // "NAME=value", by name.
  const std::vector<std::string>& entries() const { return entries_; }

 private:
  std::vector<std::string> entries_;
};

}  // namespace caisson
