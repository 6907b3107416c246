#include "workflow/mermaid.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "wire/canonical_json.h"

namespace caisson {
namespace {

constexpr std::size_t kMaxLabelBytes = 60;

// Everything that Mermaid or HTML could read as syntax becomes a character code.
std::string Label(std::string_view text) {
  std::string label;
  for (const char c : text.substr(0, kMaxLabelBytes)) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == ' ' || c == '_' || c == '-' || c == '.' ||
                          static_cast<unsigned char>(c) >= 0x80;
    if (is_plain) {
      label += c;
    } else {
      label += "#" + std::to_string(static_cast<unsigned char>(c)) + ";";
    }
  }
  return label;
}

std::string ConditionOf(const std::optional<Schema>& when,
                        const std::optional<std::uint32_t>& limit) {
  std::string text;
  if (when) text = ShownJson(when->document()).has_value() ? *ShownJson(when->document()) : "";
  if (text.size() > kMaxLabelBytes) text = text.substr(0, kMaxLabelBytes - 3) + "...";
  if (limit) text += (text.empty() ? "at most " : ", at most ") + std::to_string(*limit);
  return text;
}

class Chart {
 public:
  explicit Chart(const Workflow& workflow) : parts_(workflow.parts()) {
    for (const Executor& each : parts_.executors) {
      names_.emplace(each.id, "n" + std::to_string(names_.size()));
    }
    text_ = "flowchart TD\n";
    for (const Executor& each : parts_.executors) {
      text_ += "  " + names_.at(each.id) +
               Shape(each, each.id == *parts_.start, workflow.IsOutput(each.id)) + "\n";
    }
    for (const Edge& each : parts_.edges)
      Arrow(each.from, each.to, ConditionOf(each.when, each.limit));
    for (const Switch& one : parts_.switches) AddSwitch(one);
    for (std::size_t i = 0; i < parts_.fan_ins.size(); ++i) AddFanIn(parts_.fan_ins[i], i);
  }
  const std::string& text() const { return text_; }

 private:
  static std::string Shape(const Executor& executor, bool is_start, bool is_output) {
    const std::string text = Label(executor.id.str()) + "<br/>" +
                             std::string(KindOf(executor.step)) + (is_start ? ", start" : "") +
                             (is_output ? ", output" : "");
    if (std::holds_alternative<RequestStep>(executor.step)) return "{{\"" + text + "\"}}";
    if (std::holds_alternative<SubWorkflowStep>(executor.step)) return "[[\"" + text + "\"]]";
    if (std::holds_alternative<AgentStep>(executor.step)) return "([\"" + text + "\"])";
    return "[\"" + text + "\"]";
  }

  void Arrow(const ExecutorId& from, const ExecutorId& to, const std::string& label) {
    text_ += "  " + names_.at(from) +
             (label.empty() ? " --> " : " -- \"" + Label(label) + "\" --> ") + names_.at(to) + "\n";
  }

  void AddSwitch(const Switch& one) {
    std::size_t number = 0;
    for (const Switch::Case& each : one.cases) {
      const std::string when = ConditionOf(each.when, each.limit);
      Arrow(one.from, each.to,
            "case " + std::to_string(++number) + (when.empty() ? "" : " " + when));
    }
    if (one.otherwise) Arrow(one.from, *one.otherwise, "default");
  }

  void AddFanIn(const FanIn& one, std::size_t index) {
    const std::string join = "join" + std::to_string(index);
    text_ += "  " + join + "((\"all\"))\n";
    for (const ExecutorId& from : one.from) text_ += "  " + names_.at(from) + " --> " + join + "\n";
    text_ += "  " + join + " --> " + names_.at(one.to) + "\n";
  }

  const WorkflowParts& parts_;
  std::map<ExecutorId, std::string> names_{};
  std::string text_{};
};

}  // namespace

std::string ToMermaid(const Workflow& workflow) {
  return Chart(workflow).text();
}

}  // namespace caisson
