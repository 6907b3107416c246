#include "workflow/workflow_checks.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/closest.h"
#include "workflow/arguments_template.h"

namespace caisson {
namespace {

constexpr std::size_t kMaxNameBytes = 64;
constexpr std::size_t kMaxTextBytes = 64u << 10;  // Code and prompts.

bool IsName(std::string_view name) {
  const auto is_part = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  };
  return !name.empty() && name.size() <= kMaxNameBytes && std::ranges::all_of(name, is_part);
}

std::string Quoted(std::string_view name) {
  return "\"" + std::string(name.substr(0, kMaxNameBytes)) + "\"";
}

constexpr std::string_view kNameRule = " is no name: use 1 to 64 letters, digits, \"_\" and \"-\"";

}  // namespace

void WorkflowChecks::Run() {
  CheckName();
  if (parts_.executors.size() > WorkflowBuilder::kMaxExecutors ||
      WaysOf(parts_).size() > WorkflowBuilder::kMaxEdges) {
    builder_.Complain(places_.name,
                      "the workflow is too large: at most 200 executors and 1000 edges");
    return;
  }
  std::set<ExecutorId> seen;
  for (std::size_t i = 0; i < parts_.executors.size(); ++i) {
    const Executor& executor = parts_.executors[i];
    CheckExecutor(executor, places_.executors[i]);
    if (!seen.insert(executor.id).second) {
      builder_.Complain(places_.executors[i],
                        "there is another executor " + Quoted(executor.id.str()));
    }
  }
  CheckStart();
  CheckEdges();
  CheckSwitches();
  CheckFanIns();
  if (!builder_.problems_.empty()) return;
  CheckReach();
  CheckCycles();
}

void WorkflowChecks::CheckName() {
  if (!IsName(parts_.name)) {
    builder_.Complain(places_.name, Quoted(parts_.name) + std::string(kNameRule));
  }
}

void WorkflowChecks::CheckExecutor(const Executor& executor, const Place& at) {
  if (!IsName(executor.id.str())) {
    builder_.Complain(at, Quoted(executor.id.str()) + std::string(kNameRule));
  }
  if (!executor.save_as.empty() && !IsName(executor.save_as)) {
    builder_.Complain(at, "save_as: " + Quoted(executor.save_as) + std::string(kNameRule));
  }
  CheckStep(executor, at);
}

void WorkflowChecks::CheckStep(const Executor& executor, const Place& at) {
  const std::string who = "executor " + Quoted(executor.id.str());
  const auto check_text = [&](std::string_view text, std::string_view name) {
    if (text.empty()) builder_.Complain(at, who + " has no " + std::string(name));
    if (text.size() > kMaxTextBytes) {
      builder_.Complain(at, who + ": its " + std::string(name) + " is longer than 64 KiB");
    }
  };
  if (const auto* code = std::get_if<CodeStep>(&executor.step)) {
    check_text(code->code, "code");
  } else if (const auto* tool = std::get_if<ToolStep>(&executor.step)) {
    check_text(tool->tool, "tool");
    if (tool->arguments.is_none()) return;
    if (const auto fits = CheckTemplate(tool->arguments); !fits) {
      builder_.Complain(at, who + ": " + fits.error().message());
    }
  } else if (const auto* agent = std::get_if<AgentStep>(&executor.step)) {
    check_text(agent->agent, "agent");
  } else if (const auto* request = std::get_if<RequestStep>(&executor.step)) {
    check_text(request->prompt, "prompt");
  } else if (const auto& sub = std::get<SubWorkflowStep>(executor.step); !sub.workflow) {
    builder_.Complain(at, who + " has no workflow");
  } else if (sub.workflow->depth() >= WorkflowBuilder::kMaxDepth) {
    builder_.Complain(at, who + ": workflows are nested too deeply (at most 4)");
  }
}

void WorkflowChecks::CheckStart() {
  if (parts_.executors.empty()) {
    builder_.Complain(places_.name, "the workflow has no executors");
  } else if (!parts_.start) {
    builder_.Complain(places_.name,
                      "the workflow has no start: name the executor that gets the input");
  } else {
    CheckEnd("start", *parts_.start, *places_.start);
  }
}

void WorkflowChecks::CheckEnd(std::string_view role, const ExecutorId& id, const Place& at) {
  if (Find(id) != nullptr) return;
  builder_.Complain(at, std::string(role) + ": there is no executor " + Quoted(id.str()) +
                            DidYouMean(id.str(), Names()));
}

void WorkflowChecks::CheckTypes(const ExecutorId& from, const ExecutorId& to, const Place& at) {
  CheckEnd("from", from, at);
  CheckEnd("to", to, at);
  const Executor* source = Find(from);
  const Executor* target = Find(to);
  if (source == nullptr || target == nullptr || source->output.Overlaps(target->input)) return;
  builder_.Complain(at, Quoted(from.str()) + " sends " + source->output.Name() + ", but " +
                            Quoted(to.str()) + " accepts " + target->input.Name());
}

void WorkflowChecks::CheckEdges() {
  std::set<std::pair<ExecutorId, ExecutorId>> seen;
  for (std::size_t i = 0; i < parts_.edges.size(); ++i) {
    const Edge& edge = parts_.edges[i];
    CheckTypes(edge.from, edge.to, places_.edges[i]);
    if (!seen.emplace(edge.from, edge.to).second) {
      builder_.Complain(places_.edges[i], "there is another edge from " + Quoted(edge.from.str()) +
                                              " to " + Quoted(edge.to.str()));
    }
    if (edge.limit == 0u) builder_.Complain(places_.edges[i], "limit must be at least 1");
  }
}

void WorkflowChecks::CheckSwitches() {
  for (std::size_t i = 0; i < parts_.switches.size(); ++i) {
    const Switch& one = parts_.switches[i];
    const Place& at = places_.switches[i];
    if (one.cases.empty()) builder_.Complain(at, "the switch has no cases");
    for (std::size_t k = 0; k < one.cases.size(); ++k) {
      const Switch::Case& each = one.cases[k];
      CheckTypes(one.from, each.to, at);
      if (each.limit == 0u) builder_.Complain(at, "limit must be at least 1");
      if (!each.when && !each.limit && (k + 1 < one.cases.size() || one.otherwise)) {
        builder_.Complain(at, "the case for " + Quoted(each.to.str()) +
                                  " takes every message, so no later one is reached: give it a "
                                  "`when`, or put it last");
      }
    }
    if (one.otherwise) CheckTypes(one.from, *one.otherwise, at);
  }
}

void WorkflowChecks::CheckFanIns() {
  for (std::size_t i = 0; i < parts_.fan_ins.size(); ++i) {
    const FanIn& one = parts_.fan_ins[i];
    const Place& at = places_.fan_ins[i];
    if (one.from.size() < 2) builder_.Complain(at, "a fan-in needs at least two sources");
    if (std::set(one.from.begin(), one.from.end()).size() < one.from.size()) {
      builder_.Complain(at, "the fan-in names a source twice");
    }
    for (const ExecutorId& from : one.from) CheckEnd("from", from, at);
    CheckEnd("to", one.to, at);
    const Executor* target = Find(one.to);
    const MessageType object = *MessageType::FromSchema(Value("object"));
    if (target != nullptr && !target->input.Overlaps(object)) {
      builder_.Complain(at, "a fan-in delivers object, but " + Quoted(one.to.str()) + " accepts " +
                                target->input.Name());
    }
  }
}

void WorkflowChecks::CheckReach() {
  std::set<ExecutorId> reached = {*parts_.start};
  const std::vector<Way> ways = WaysOf(parts_);
  for (bool grows = true; grows;) {
    grows = false;
    for (const Way& way : ways) {
      if (reached.contains(*way.from)) grows |= reached.insert(*way.to).second;
    }
  }
  for (std::size_t i = 0; i < parts_.executors.size(); ++i) {
    const std::string& id = parts_.executors[i].id.str();
    if (reached.contains(parts_.executors[i].id)) continue;
    builder_.Complain(places_.executors[i], "no message reaches executor " + Quoted(id) +
                                                ": no edge leads to it from the start");
  }
}

// A cycle is bounded if one of its ways has a limit. Without those ways the graph must have none.
void WorkflowChecks::CheckCycles() {
  std::map<ExecutorId, std::vector<ExecutorId>> next;
  for (const Way& way : WaysOf(parts_)) {
    if (!way.is_bounded) next[*way.from].push_back(*way.to);
  }
  std::map<ExecutorId, int> color;  // 1: on the path, 2: done.
  std::vector<ExecutorId> path;
  // Not deeper than kMaxExecutors.
  const std::function<bool(const ExecutorId&)> visit = [&](const ExecutorId& id) {
    color[id] = 1;
    path.push_back(id);
    for (const ExecutorId& to : next[id]) {
      if (color[to] == 1) {
        path.push_back(to);
        return true;
      }
      if (color[to] == 0 && visit(to)) return true;
    }
    path.pop_back();
    color[id] = 2;
    return false;
  };
  for (std::size_t i = 0; i < parts_.executors.size(); ++i) {
    const ExecutorId& id = parts_.executors[i].id;
    if (color[id] != 0 || !visit(id)) continue;
    std::string text;
    for (auto each = std::ranges::find(path, path.back()); each != path.end(); ++each) {
      text.append(text.empty() ? "" : " -> ").append(each->str());
    }
    builder_.Complain(places_.executors[i],
                      "the cycle " + text + " has no bound: give one of its edges a `limit`");
    return;
  }
}

const Executor* WorkflowChecks::Find(const ExecutorId& id) const {
  const auto found = std::ranges::find(parts_.executors, id, &Executor::id);
  return found == parts_.executors.end() ? nullptr : &*found;
}

std::vector<std::string_view> WorkflowChecks::Names() const {
  std::vector<std::string_view> names;
  for (const Executor& executor : parts_.executors) names.emplace_back(executor.id.str());
  return names;
}

}  // namespace caisson
