#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/run_here.h"
#include "base/visible.h"
#include "cli/code_flags.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/store_flags.h"
#include "cli/tell.h"
#include "identity/local_resolver.h"
#include "runs/door_caller.h"
#include "server/configured_workflows.h"
#include "server/open_store.h"
#include "wire/json.h"
#include "wire/object.h"
#include "workflow/mermaid.h"
#include "workflow/workflow_json.h"

namespace caisson::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  caisson workflow check report.toml
  caisson workflow graph report.toml > report.mmd
  caisson workflow run report.toml --config caisson.toml --input '"Q3"'
  caisson workflow show wf_… --config caisson.toml
  caisson workflow resume report.toml wf_… --config caisson.toml --answer 'req_…=true'
  caisson workflow resume report.toml wf_… --config caisson.toml --from cp-0000000004

FILE is a declaration in TOML or JSON (.json). `run` and `resume` go on until the workflow ends or
waits for a person. It can be resumed only if --config names a [store].

Exit status: 0 completed, or no mistake found; 1 the workflow failed; 2 wrong usage, declaration or
configuration; 3 the workflow waits for an answer or an approval.)";

struct WorkflowFlags {
  std::string file;
  std::string id;
  std::optional<std::string> input;
  std::optional<std::string> instance;
  std::optional<std::string> from;
  std::vector<std::string> answers;
  bool json = false;
  StoreFlags store;
  CodeFlags code;
};

Result<Value> ReadJson(std::string_view text, std::string_view what) {
  auto value = ParseJson(text);
  if (value) return value;
  return Error(ErrorCode::kInvalidArgument,
               std::string(what) +
                   " must be JSON, such as '\"text\"' or '{\"n\": 1}': " + value.error().message());
}

Result<RequestAnswer> ReadAnswer(const std::string& text) {
  const std::size_t sign = text.find('=');
  if (sign == text.npos) {
    return Error(ErrorCode::kInvalidArgument, "--answer takes REQUEST=JSON; got \"" + text + "\"");
  }
  TRY_ASSIGN(Value value, ReadJson(std::string_view(text).substr(sign + 1), "the answer"));
  return RequestAnswer{.request = RequestId(text.substr(0, sign)), .answer = std::move(value)};
}

Result<Identity> IdentityOf(const StoreFlags& flags) {
  auto identity = Identity::Create({.tenant = flags.tenant,
                                    .user = flags.user.value_or(LocalIdentity().user()),
                                    .chat = flags.chat});
  if (!identity) return Error(ErrorCode::kInvalidArgument, identity.error().message());
  return identity;
}

Result<Workflows> KnownWorkflows(const WorkflowFlags& flags) {
  if (flags.store.config.empty()) return Workflows();
  TRY_ASSIGN(const Config config, LoadConfig(flags.store.config));
  return LoadWorkflows(config);
}

Result<std::shared_ptr<const Workflow>> LoadOf(const WorkflowFlags& flags) {
  TRY_ASSIGN(const Workflows known, KnownWorkflows(flags));
  return LoadWorkflow(flags.file, known);
}

Result<std::string> Check(const WorkflowFlags& flags) {
  TRY_ASSIGN(const auto workflow, LoadOf(flags));
  return workflow->name() + ": " + std::to_string(workflow->parts().executors.size()) +
         " executors, no mistake found\n";
}

Result<std::string> Graph(const WorkflowFlags& flags) {
  TRY_ASSIGN(const auto workflow, LoadOf(flags));
  return ToMermaid(*workflow);
}

// ---- Instances ----

std::string Line(std::string_view label, const Value& value) {
  const auto text = ToJson(value);
  return "  " + std::string(label) + SpellOutDeceptive(text ? *text : "null") + "\n";
}

std::string Describe(const WorkflowView& view) {
  std::string text = view.instance.str() + "  " + std::string(ToString(view.status)) +
                     "  superstep " + std::to_string(view.superstep) + "  " +
                     view.checkpoint.str() + "\n";
  if (!view.error.empty()) text += "  " + SpellOutDeceptive(view.error) + "\n";
  for (const WorkflowOutput& each : view.outputs) {
    text += Line(each.executor.str() + ": ", each.value);
  }
  for (const OpenRequest& each : view.requests) {
    text +=
        "  waits for an answer to " + each.id.str() + ": " + SpellOutDeceptive(each.prompt) + "\n";
    text += Line("  about: ", each.message);
    text += Line("  answer: ", each.response);
  }
  for (const OpenApproval& each : view.approvals) {
    text += "  waits for the approval " + each.id.str() + "; see `caisson approvals show`\n";
  }
  return text;
}

int StatusOf(const WorkflowView& view) {
  switch (view.status) {
    case InstanceStatus::kCompleted:
      return kExitCompleted;
    case InstanceStatus::kFailed:
      return kExitCodeFailed;
    default:
      return kExitWaiting;
  }
}

int TellView(const WorkflowFlags& flags, const Result<WorkflowView>& view) {
  if (!view) return Tell(view.error());
  if (!flags.json) return Tell(Describe(*view), StatusOf(*view));
  auto text = ToJson(Value(ToDict(*view)));
  if (!text) return Tell(text.error());
  return Tell(*text + "\n", StatusOf(*view));
}

// The host of the command, and the workflows on it.
struct Opened {
  std::unique_ptr<Host> host;
  std::unique_ptr<WorkflowHost> workflows;
  IsolationKey owner;
  std::shared_ptr<const CallerContext> caller;
  std::string name;
};

Result<Opened> OpenOf(const WorkflowFlags& flags) {
  TRY_ASSIGN(Workflows all, KnownWorkflows(flags));
  TRY_ASSIGN(auto workflow, LoadWorkflow(flags.file, all));
  std::string name = workflow->name();
  std::erase_if(all, [&](const auto& each) { return each->name() == name; });
  all.push_back(std::move(workflow));
  TRY_ASSIGN(const Identity identity, IdentityOf(flags.store));
  CodeFlags code = flags.code;
  code.config = flags.store.config;
  TRY_ASSIGN(CodeServiceOptions options, ToServiceOptions(code));
  options.backend.lanes = 0;  // Steps run side by side.
  TRY_ASSIGN(auto host, OpenHost(code, std::move(options), HostOptions::Keeps::kAll));
  host->runs().Tend();  // Continues the runs of a process that was killed.
  auto workflows = std::make_unique<WorkflowHost>(*host, std::move(all));
  auto caller =
      std::make_shared<const CallerContext>(LocalCaller(host->code().caller_host(), "cli"));
  return Opened{.host = std::move(host),
                .workflows = std::move(workflows),
                .owner = IsolationKey(identity),
                .caller = std::move(caller),
                .name = std::move(name)};
}

Result<WorkflowView> StartIt(const WorkflowFlags& flags) {
  StartInstance start;
  TRY_ASSIGN(start.input, ReadJson(flags.input.value_or("null"), "--input"));
  if (flags.instance) start.instance = InstanceId(*flags.instance);
  TRY_ASSIGN(Opened opened, OpenOf(flags));
  start.workflow = opened.name;
  start.caller = opened.caller;
  TRY_ASSIGN(WorkflowView view,
             RunHere(opened.workflows->service().Start(opened.owner, std::move(start))));
  if (view.status == InstanceStatus::kWaiting && !opened.host->keeps_runs()) {
    return Error(ErrorCode::kFailedPrecondition,
                 "the workflow waits for a person, and nothing keeps it: name a configuration with "
                 "a [store] (--config), and run it again");
  }
  return view;
}

Result<WorkflowView> ResumeIt(const WorkflowFlags& flags) {
  ResumeInstance resume{.instance = InstanceId(flags.id), .answered_by = CurrentUser()};
  if (flags.from) resume.from = CheckpointId(*flags.from);
  for (const std::string& each : flags.answers) {
    TRY_ASSIGN(RequestAnswer answer, ReadAnswer(each));
    resume.answers.push_back(std::move(answer));
  }
  TRY_ASSIGN(Opened opened, OpenOf(flags));
  resume.caller = opened.caller;
  return RunHere(opened.workflows->service().Resume(opened.owner, std::move(resume)));
}

// For commands that look at instances and run none.
class NoSteps final : public StepRunner {
 public:
  asio::awaitable<Result<StepResult>> Run(StepCall) override {
    co_return Error(ErrorCode::kUnavailable, "nothing is run here");
  }
};

Result<std::string> Show(const WorkflowFlags& flags) {
  TRY_ASSIGN(const OpenedStore opened, OpenStoreOf(flags.store));
  TRY_ASSIGN(const KeyRing keys, OpenKeys(opened.config, CaptureEnvironment()));
  SealedCheckpoints checkpoints(opened.store->checkpoints(), keys);
  NoSteps steps;
  WorkflowService service({.checkpoints = checkpoints, .steps = steps, .workflows = {}});
  const InstanceId id(flags.id);
  TRY_ASSIGN(const WorkflowView view, RunHere(service.Look(opened.owner, id)));
  TRY_ASSIGN(const auto list, RunHere(service.Checkpoints(opened.owner, id)));
  if (flags.json) {
    Dict dict = ToDict(view);
    List ids;
    for (const CheckpointId& each : list) ids.items.emplace_back(each.str());
    Append(dict, "checkpoints", Value(std::move(ids)));
    TRY_ASSIGN(const std::string text, ToJson(Value(std::move(dict))));
    return text + "\n";
  }
  std::string text = Describe(view) + "  checkpoints:";
  for (const CheckpointId& each : list) text += " " + each.str();
  return text + "\n";
}

// ---- The command ----

void AddFile(Command command, WorkflowFlags& flags) {
  command.AddOption("FILE", flags.file, "The declaration of the workflow", {.required = true});
}

void AddInstanceFlags(Command command, WorkflowFlags& flags) {
  AddStoreFlags(command, flags.store);
  command.AddFlag("--json", flags.json, "Print one line of JSON");
}

}  // namespace

void AddWorkflowCommand(Command program) {
  auto flags = std::make_shared<WorkflowFlags>();  // Shared by the parser and the callbacks.
  Command command = program.AddSubcommand("workflow", "Check, draw, run and resume workflows");
  command.SetFooter(kExamples);
  command.RequireSubcommand();

  const auto add = [&](Command sub, Result<std::string> (*action)(const WorkflowFlags&)) {
    AddFile(sub, *flags);
    sub.AddOption("--config", flags->store.config, "The configuration that names other workflows",
                  {.value = "FILE"});
    sub.OnChosen([flags, action] { return Tell(action(*flags)); });
  };
  add(command.AddSubcommand("check", "Find the mistakes in a declaration"), Check);
  add(command.AddSubcommand("graph", "Print a workflow as a Mermaid flow chart"), Graph);

  Command run = command.AddSubcommand("run", "Start an instance of a workflow");
  AddFile(run, *flags);
  run.AddOption("--input", flags->input, "The message for its start; by default null",
                {.value = "JSON"});
  run.AddOption("--instance", flags->instance, "The id of the new instance", {.value = "ID"});
  AddInstanceFlags(run, *flags);
  AddTierFlag(run, flags->code.tier);
  run.OnChosen([flags] { return TellView(*flags, StartIt(*flags)); });

  Command resume = command.AddSubcommand("resume", "Continue an instance from a checkpoint");
  AddFile(resume, *flags);
  resume.AddOption("ID", flags->id, "The id of the instance", {.required = true});
  resume.AddOption("--answer", flags->answers, "Answer a request; may be given several times",
                   {.value = "REQUEST=JSON"});
  resume.AddOption("--from", flags->from, "Continue from this checkpoint, not from the newest",
                   {.value = "CHECKPOINT"});
  AddInstanceFlags(resume, *flags);
  AddTierFlag(resume, flags->code.tier);
  resume.OnChosen([flags] { return TellView(*flags, ResumeIt(*flags)); });

  Command show = command.AddSubcommand("show", "Show an instance and its checkpoints");
  show.AddOption("ID", flags->id, "The id of the instance", {.required = true});
  AddInstanceFlags(show, *flags);
  show.OnChosen([flags] { return Tell(Show(*flags)); });
}

}  // namespace caisson::cli
