// WorkflowChecks finds the mistakes in the parts of a WorkflowBuilder.
//
// Trust     The operator's or the program's.
// Threads   One.
// Lifetime  Borrows the builder.
#pragma once

#include <string_view>
#include <vector>

#include "workflow/builder.h"

namespace caisson {

class WorkflowChecks {
 public:
  explicit WorkflowChecks(WorkflowBuilder& builder)
      : builder_(builder), parts_(builder.parts_), places_(builder.places_) {}

  // Adds each mistake to the builder. The graph as a whole is checked only if all its names are
  // known.
  void Run();

 private:
  void CheckName();
  void CheckExecutor(const Executor& executor, const Place& at);
  void CheckStep(const Executor& executor, const Place& at);
  void CheckStart();
  void CheckEdges();
  void CheckSwitches();
  void CheckFanIns();
  void CheckEnd(std::string_view role, const ExecutorId& id, const Place& at);
  void CheckTypes(const ExecutorId& from, const ExecutorId& to, const Place& at);
  void CheckReach();
  void CheckCycles();

  const Executor* Find(const ExecutorId& id) const;
  std::vector<std::string_view> Names() const;

  WorkflowBuilder& builder_;
  const WorkflowParts& parts_;
  const WorkflowBuilder::Places& places_;
};

}  // namespace caisson
