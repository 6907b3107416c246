// A ToolRegistry holds the tools of one door or agent, in order. A ToolSet is its contents at one
// moment.
//
// A run uses the set from the time of its start. Later changes of the registry apply to later runs.
//
// Trust     Tools are the operator's; their names and schemas were checked when they were made.
// Threads   Any thread. A ToolSet never changes.
// Lifetime  A snapshot keeps its tools alive.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/guarded.h"
#include "base/result.h"
#include "tools/tool.h"

namespace caisson {

class ToolSet {
 public:
  ToolSet() = default;
  explicit ToolSet(std::vector<std::shared_ptr<const Tool>> tools);

  const std::vector<std::shared_ptr<const Tool>>& tools() const { return tools_; }
  const Tool* Find(std::string_view name) const;  // Null if there is none.

  // The value for RunRequest::signatures; null for a set without tools.
  const std::shared_ptr<const std::string>& signatures() const { return signatures_; }

  // Returns the error "there is no tool "x"; did you mean ...? The tools are ...", for the caller.
  Error NoSuchTool(std::string_view name) const;

 private:
  std::vector<std::shared_ptr<const Tool>> tools_;
  std::map<std::string_view, const Tool*> by_name_;  // Keys are views of the tools' own names.
  std::shared_ptr<const std::string> signatures_;
};

// Whether a call of one of the tools may need an approval.
bool MayAsk(const ToolSet& tools);

class ToolRegistry {
 public:
  // Adds the tool at the end. Refuses a name that exists.
  Result<void> Add(std::shared_ptr<const Tool> tool);
  // Replaces the tool of that name, which must exist.
  Result<void> Replace(std::shared_ptr<const Tool> tool);
  Result<void> Remove(std::string_view name);
  void Clear();

  std::shared_ptr<const ToolSet> Snapshot() const { return set_.Lock()->set; }

 private:
  struct State {
    std::shared_ptr<const ToolSet> set = std::make_shared<const ToolSet>();
  };
  mutable Guarded<State> set_;
};

}  // namespace caisson
