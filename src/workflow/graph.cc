#include "workflow/graph.h"

#include <algorithm>
#include <type_traits>

namespace caisson {

const Executor* Workflow::Find(const ExecutorId& id) const {
  const auto found = std::ranges::find(parts_.executors, id, &Executor::id);
  return found == parts_.executors.end() ? nullptr : &*found;
}

bool Workflow::IsOutput(const ExecutorId& id) const {
  return std::ranges::none_of(WaysOf(parts_), [&](const Way& way) { return *way.from == id; });
}

std::size_t Workflow::depth() const {
  std::size_t inner = 0;
  for (const Executor& executor : parts_.executors) {
    if (const auto* sub = std::get_if<SubWorkflowStep>(&executor.step)) {
      inner = std::max(inner, sub->workflow->depth());
    }
  }
  return inner + 1;
}

std::string_view KindOf(const Step& step) {
  constexpr std::string_view kNames[] = {"code", "tool", "agent", "request", "workflow"};
  static_assert(std::variant_size_v<Step> == std::size(kNames));
  return kNames[step.index()];
}

std::vector<Way> WaysOf(const WorkflowParts& parts) {
  std::vector<Way> ways;
  for (const Edge& edge : parts.edges) {
    ways.push_back({&edge.from, &edge.to, edge.limit.has_value()});
  }
  for (const Switch& one : parts.switches) {
    for (const Switch::Case& each : one.cases) {
      ways.push_back({&one.from, &each.to, each.limit.has_value()});
    }
    if (one.otherwise) ways.push_back({&one.from, &*one.otherwise, false});
  }
  for (const FanIn& one : parts.fan_ins) {
    for (const ExecutorId& from : one.from) ways.push_back({&from, &one.to, false});
  }
  return ways;
}

}  // namespace caisson
