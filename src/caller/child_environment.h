// ChildEnvironment is the environment of a child process. It is built from empty, here and nowhere
// else (I1).
//
// Its sources, where later ones take precedence:
//   1. variables of this program's start environment that the operator lets children inherit; never
//      credentials or variables that change how programs are loaded, even if the list names them;
//   2. the child's own configured variables (a credential that it needs is given here);
//   3. the session's: a bound variable wins even if empty, an unset one is removed (the table is in
//      caller_context.h).
//
// Trust     Names come from the operator. Values may be hostile and pass unchanged, as data.
// Threads   A value.
// Lifetime  A value.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "caller/caller_context.h"

namespace caisson {

struct ChildVariables {
  // Names, or prefixes of names that end with `*`.
  std::vector<std::string> inherit = {"PATH", "LANG", "LC_*", "TZ"};
  EnvironmentMap own{};
};

// Returns true if a variable of this name probably holds a credential or controls permissions.
bool IsCredentialName(std::string_view name);

class ChildEnvironment {
 public:
  ChildEnvironment() = default;  // Empty.
  // Fails with kInvalidArgument if an environment cannot hold a name or value.
  static Result<ChildEnvironment> Build(const CallerContext& caller,
                                        const ChildVariables& variables);

  // Returns "NAME=value" entries, sorted by name, each name once.
  const std::vector<std::string>& entries() const { return entries_; }

 private:
  explicit ChildEnvironment(std::vector<std::string> entries) : entries_(std::move(entries)) {}
  std::vector<std::string> entries_;
};

}  // namespace caisson
