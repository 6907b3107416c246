#include "workflow/builder.h"

#include <map>

#include "base/sha256.h"
#include "wire/canonical_json.h"
#include "wire/object.h"
#include "workflow/workflow_checks.h"

namespace caisson {
namespace {

Value ToValue(const std::optional<Schema>& when) {
  return when ? when->document() : Value();
}
Value ToValue(const std::optional<std::uint32_t>& limit) {
  return limit ? Value(std::int64_t{*limit}) : Value();
}

Value ToValue(const Step& step) {
  if (const auto* code = std::get_if<CodeStep>(&step)) return Value(code->code);
  if (const auto* tool = std::get_if<ToolStep>(&step)) {
    return Value(List{{Value(tool->tool), tool->arguments}});
  }
  if (const auto* agent = std::get_if<AgentStep>(&step)) return Value(agent->agent);
  if (const auto* request = std::get_if<RequestStep>(&step)) return Value(request->prompt);
  return Value(std::get<SubWorkflowStep>(step).workflow->digest());
}

Value ToValue(const WorkflowLimits& limits) {
  const auto number = [](std::uint64_t n) { return Value(static_cast<std::int64_t>(n)); };
  return Value(
      List{{number(limits.supersteps), number(limits.messages), number(limits.message_bytes),
            number(limits.state_bytes), number(limits.steps_at_once)}});
}

Value ToValue(const Switch& one) {
  List cases;
  for (const Switch::Case& each : one.cases) {
    cases.items.emplace_back(List{{Value(each.to.str()), ToValue(each.when), ToValue(each.limit)}});
  }
  return Value(List{{Value(one.from.str()), Value(std::move(cases)),
                     one.otherwise ? Value(one.otherwise->str()) : Value()}});
}

Value ToValue(const FanIn& one) {
  List from;
  for (const ExecutorId& id : one.from) from.items.emplace_back(id.str());
  return Value(List{{Value(std::move(from)), Value(one.to.str())}});
}

// Fails if the parts have no canonical text: a schema or a template may hold text that is not
// UTF-8.
Result<std::string> DigestOf(const WorkflowParts& parts) {
  List executors;
  for (const Executor& each : parts.executors) {
    executors.items.emplace_back(
        List{{Value(each.id.str()), Value(std::string(KindOf(each.step))), ToValue(each.step),
              each.input.document(), each.output.document(), Value(each.save_as)}});
  }
  List edges;
  for (const Edge& each : parts.edges) {
    edges.items.emplace_back(List{
        {Value(each.from.str()), Value(each.to.str()), ToValue(each.when), ToValue(each.limit)}});
  }
  List switches;
  for (const Switch& each : parts.switches) switches.items.push_back(ToValue(each));
  List fan_ins;
  for (const FanIn& each : parts.fan_ins) fan_ins.items.push_back(ToValue(each));
  TRY_ASSIGN(const std::string text,
             CanonicalJson(Value(List{{Value("workflow 1"), Value(parts.name),
                                       Value(parts.start->str()), Value(std::move(executors)),
                                       Value(std::move(edges)), Value(std::move(switches)),
                                       Value(std::move(fan_ins)), ToValue(parts.limits)}})));
  return ToHex(Sha256(text));
}

}  // namespace

WorkflowBuilder::WorkflowBuilder(std::string name, Place at)
    : parts_({.name = std::move(name)}), places_({.name = std::move(at)}) {}

WorkflowBuilder& WorkflowBuilder::Describe(std::string description) {
  parts_.description = std::move(description);
  return *this;
}

WorkflowBuilder& WorkflowBuilder::Limit(const WorkflowLimits& limits, Place at) {
  parts_.limits = limits;
  const auto check = [&](std::uint64_t given, std::uint64_t most, const char* name) {
    if (given > 0 && given <= most) return;
    Complain(at, "limits." + std::string(name) + " must be between 1 and " + std::to_string(most));
  };
  check(limits.supersteps, kMaxWorkflowLimits.supersteps, "supersteps");
  check(limits.messages, kMaxWorkflowLimits.messages, "messages");
  check(limits.message_bytes, kMaxWorkflowLimits.message_bytes, "message_bytes");
  check(limits.state_bytes, kMaxWorkflowLimits.state_bytes, "state_bytes");
  check(limits.steps_at_once, kMaxWorkflowLimits.steps_at_once, "steps_at_once");
  return *this;
}

WorkflowBuilder& WorkflowBuilder::Add(Executor executor, Place at) {
  parts_.executors.push_back(std::move(executor));
  places_.executors.push_back(std::move(at));
  return *this;
}

namespace {

Executor Make(std::string id, Step step, ExecutorTraits traits) {
  return {.id = ExecutorId(std::move(id)),
          .step = std::move(step),
          .input = std::move(traits.input),
          .output = std::move(traits.output),
          .save_as = std::move(traits.save_as)};
}

}  // namespace

WorkflowBuilder& WorkflowBuilder::AddCode(std::string id, CodeStep step, ExecutorTraits traits,
                                          Place at) {
  return Add(Make(std::move(id), std::move(step), std::move(traits)), std::move(at));
}
WorkflowBuilder& WorkflowBuilder::AddTool(std::string id, ToolStep step, ExecutorTraits traits,
                                          Place at) {
  return Add(Make(std::move(id), std::move(step), std::move(traits)), std::move(at));
}
WorkflowBuilder& WorkflowBuilder::AddAgent(std::string id, AgentStep step, ExecutorTraits traits,
                                           Place at) {
  return Add(Make(std::move(id), std::move(step), std::move(traits)), std::move(at));
}
WorkflowBuilder& WorkflowBuilder::AddRequest(std::string id, RequestStep step,
                                             ExecutorTraits traits, Place at) {
  return Add(Make(std::move(id), std::move(step), std::move(traits)), std::move(at));
}
WorkflowBuilder& WorkflowBuilder::AddWorkflow(std::string id, SubWorkflowStep step,
                                              ExecutorTraits traits, Place at) {
  return Add(Make(std::move(id), std::move(step), std::move(traits)), std::move(at));
}

WorkflowBuilder& WorkflowBuilder::AddEdge(std::string from, std::string to, EdgeTraits traits,
                                          Place at) {
  parts_.edges.push_back({.from = ExecutorId(std::move(from)),
                          .to = ExecutorId(std::move(to)),
                          .when = std::move(traits.when),
                          .limit = traits.limit});
  places_.edges.push_back(std::move(at));
  return *this;
}

WorkflowBuilder& WorkflowBuilder::AddSwitch(Switch one, Place at) {
  parts_.switches.push_back(std::move(one));
  places_.switches.push_back(std::move(at));
  return *this;
}

WorkflowBuilder& WorkflowBuilder::AddFanIn(std::vector<std::string> from, std::string to,
                                           Place at) {
  FanIn one{.from = {}, .to = ExecutorId(std::move(to))};
  for (std::string& each : from) one.from.emplace_back(std::move(each));
  parts_.fan_ins.push_back(std::move(one));
  places_.fan_ins.push_back(std::move(at));
  return *this;
}

WorkflowBuilder& WorkflowBuilder::Start(std::string id, Place at) {
  if (parts_.start)
    Complain(at, "the workflow has a start already, \"" + parts_.start->str() + "\"");
  parts_.start = ExecutorId(std::move(id));
  places_.start = std::move(at);
  return *this;
}

void WorkflowBuilder::Complain(const Place& at, std::string_view what) {
  problems_.push_back({.at = at, .what = std::string(what)});
}

Result<std::shared_ptr<const Workflow>> WorkflowBuilder::Build() const {
  WorkflowBuilder checked = *this;
  WorkflowChecks(checked).Run();
  std::multimap<std::pair<std::string_view, std::uint32_t>, const Problem*> in_order;
  for (const Problem& each : checked.problems_) {
    in_order.emplace(std::pair(std::string_view(each.at.file), each.at.line), &each);
  }
  std::string text;
  for (const auto& [at, each] : in_order) {
    text.append(text.empty() ? "" : "\n").append(each->at.file).append(":");
    text.append(std::to_string(each->at.line)).append(": ").append(each->what);
  }
  if (!text.empty()) return Error(ErrorCode::kInvalidArgument, std::move(text));
  TRY_ASSIGN(std::string digest, DigestOf(parts_));
  return std::shared_ptr<const Workflow>(new Workflow(parts_, std::move(digest)));
}

}  // namespace caisson
