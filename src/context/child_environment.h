// ChildEnvironment is the environment of a child process: built from empty, here and nowhere else (I1).
//
// In this order, later ones winning:
//   1. what the operator lets children inherit of the environment this program was started with,
//      credentials, and what changes how programs are loaded, never among it, whatever the list says;
//   2. the child's own variables, as configured for it (a credential it needs is given to it here);
//   3. the session's: bound wins even if empty, unset is taken away (session_context.h has the table).
//
// Trust     Names come from the operator; values may be anybody's and pass untouched, as data.
// Threads   A value.
// Lifetime  A value.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "context/session_context.h"

namespace caisson {

struct ChildVariables {
  // Names, or beginnings of names with a `*` at the end.
  std::vector<std::string> inherit = {"PATH", "LANG", "LC_*", "TZ"};
  EnvironmentMap own{};
};

// Whether a variable of this name is likely to hold a credential, or to steer who may do what.
bool IsCredentialName(std::string_view name);

class ChildEnvironment {
 public:
  ChildEnvironment() = default;  // Empty.
  // kInvalidArgument: a name or value no environment can hold.
  static Result<ChildEnvironment> Build(const SessionContext& session,
                                        const ChildVariables& variables);

  // "NAME=value", sorted by name, each name once.
  const std::vector<std::string>& entries() const { return entries_; }

 private:
  explicit ChildEnvironment(std::vector<std::string> entries) : entries_(std::move(entries)) {}
  std::vector<std::string> entries_;
};

}  // namespace caisson
