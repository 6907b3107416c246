#include "workflow/workflow_service.h"

#include <algorithm>
#include <boost/asio/this_coro.hpp>
#include <utility>

#include "base/run_on.h"
#include "engine/outcome.h"
#include "wire/object.h"
#include "workflow/superstep.h"

namespace caisson {
namespace {

constexpr std::size_t kMaxAnswers = 100;
constexpr std::size_t kInnerIdDigits = 40;
constexpr std::uint64_t kPruneEvery = 16;
constexpr std::size_t kNumberDigits = 10;

CheckpointId IdOf(std::uint64_t number) {
  std::string digits = std::to_string(number);
  digits.insert(0, kNumberDigits - std::min(digits.size(), kNumberDigits), '0');
  return CheckpointId("cp-" + digits);
}

InstanceId NewInstanceId() {
  return InstanceId("wf_" + NewRunId().substr(std::string_view("run_").size()));
}

// The instance of a step that is a workflow. The same step with the same message has the same one.
Result<InstanceId> InnerId(const StepCall& call) {
  TRY_ASSIGN(const std::string digest, StepDigest(call));
  return InstanceId("wf_in_" + digest.substr(0, kInnerIdDigits));
}

// Runs `work` without the exceptions by which Asio ends a cancelled coroutine: every effect is
// followed by the checkpoint that records it.
asio::awaitable<Result<WorkflowView>> WithoutThrowing(asio::awaitable<Result<WorkflowView>> work) {
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  auto view = co_await std::move(work);
  co_await asio::this_coro::throw_if_cancelled(throws);
  co_return view;
}

// Runs the tasks, in order, as many side by side as there are workers.
class SideBySide {
 public:
  using Task = std::function<asio::awaitable<void>()>;
  explicit SideBySide(std::vector<Task> tasks) : tasks_(std::move(tasks)) {}

  asio::awaitable<void> Run(std::size_t workers) {
    if (workers <= 1) return Work();
    return Two(workers);
  }

 private:
  asio::awaitable<void> Two(std::size_t workers) {
    co_await Both(Run(workers / 2), Run(workers - workers / 2));
  }
  asio::awaitable<void> Work() {
    co_await asio::this_coro::throw_if_cancelled(false);
    while (next_ < tasks_.size() && !co_await IsCancelled()) co_await tasks_[next_++]();
  }

  const std::vector<Task> tasks_;
  std::size_t next_ = 0;
};

Error NoSuchInstance() {
  return Error(ErrorCode::kNotFound, "no such workflow instance or checkpoint");
}

}  // namespace

// One instance while a call of the service continues it.
struct WorkflowService::Driven {
  IsolationKey owner;
  InstanceId instance;
  std::shared_ptr<const Workflow> workflow{};
  std::optional<CallerRecord> caller{};
  OnWorkflowEvent on_event{};
  InstanceState state{};
  std::optional<CheckpointId> head{};  // The newest checkpoint in the store.
  std::uint64_t head_number = 0;
  std::vector<RequestAnswer> answers{};  // For workflows inside this one.
  std::string answered_by{};

  void Tell(WorkflowEvent event) const {
    if (on_event) on_event(event);
  }
  WorkflowView View() const {
    WorkflowView view{.instance = instance,
                      .workflow = state.workflow,
                      .status = state.status,
                      .fault = state.fault,
                      .error = state.error,
                      .superstep = state.superstep,
                      .checkpoint = head.value_or(CheckpointId("")),
                      .outputs = state.outputs,
                      .requests = state.requests,
                      .approvals = state.approvals};
    for (const OpenRequest& each : state.inner_requests) view.requests.push_back(each);
    return view;
  }
};

// Counts an instance of the owner while it is under way.
class WorkflowService::Turnstile {
 public:
  Turnstile(Guarded<std::map<IsolationKey, std::uint32_t>>& counts, IsolationKey owner)
      : counts_(&counts), owner_(std::move(owner)) {}
  Turnstile(Turnstile&& other) noexcept
      : counts_(std::exchange(other.counts_, nullptr)), owner_(std::move(other.owner_)) {}
  Turnstile& operator=(Turnstile&&) = delete;
  ~Turnstile() {
    if (counts_ == nullptr) return;
    auto counts = counts_->Lock();
    const auto found = counts->find(owner_);
    if (--found->second == 0) counts->erase(found);
  }

 private:
  Guarded<std::map<IsolationKey, std::uint32_t>>* counts_;
  IsolationKey owner_;
};

Result<WorkflowService::Turnstile> WorkflowService::Enter(const IsolationKey& owner) {
  auto counts = under_way_.Lock();
  const auto found = counts->find(owner);
  if (found != counts->end() && found->second >= options_.max_at_once) {
    return Error(ErrorCode::kResourceExhausted,
                 "you have " + std::to_string(options_.max_at_once) +
                     " workflows under way already; try again when some have ended");
  }
  ++(*counts)[owner];
  return Turnstile(under_way_, owner);
}

std::shared_ptr<const Workflow> WorkflowService::Find(std::string_view name) const {
  for (const auto& each : options_.workflows) {
    if (each->name() == name) return each;
  }
  return nullptr;
}

SystemTime WorkflowService::Now() const {
  return options_.clock != nullptr ? options_.clock->Now() : system_clock_.Now();
}

// A superstep starts from an empty context and binds the caller of this request (I2). A step
// changes a copy of its own, if it changes anything at all.
std::shared_ptr<const CallerContext> WorkflowService::CallerOf(const Driven& driven) const {
  if (options_.caller_host == nullptr || !driven.caller) return nullptr;
  auto context = std::make_shared<CallerContext>(*options_.caller_host);
  context->Bind(
      {.values = driven.caller->values,
       .async_delivery = driven.caller->async_delivery.value_or(AsyncDelivery::kSupported)});
  context->Set(CallerVariable::kId, driven.instance.str());
  return context;
}

// ---- Checkpoints ----

asio::awaitable<Result<void>> WorkflowService::Load(Driven& driven,
                                                    std::optional<CheckpointId> from) {
  const auto no_instance = [](const Error& error) {
    return error.code() == ErrorCode::kNotFound ? NoSuchInstance() : error;
  };
  auto head = co_await options_.checkpoints.Head(driven.owner, driven.instance);
  if (!head) co_return no_instance(head.error());
  auto newest = DecodeInstanceState(head->bytes);
  if (!newest) co_return std::move(newest).error();
  driven.head = head->id;
  driven.head_number = newest->number;
  if (!from || *from == head->id) {
    driven.state = *std::move(newest);
  } else {
    auto older = co_await options_.checkpoints.Find(driven.owner, driven.instance, *from);
    if (!older) co_return no_instance(older.error());
    auto state = DecodeInstanceState(older->bytes);
    if (!state) co_return std::move(state).error();
    driven.state = *std::move(state);
    // The supersteps after it have been begun before, so their effects may have happened.
    if (!driven.state.begun_at) driven.state.begun_at = older->created_at;
  }
  if (!driven.workflow) driven.workflow = Find(driven.state.workflow);
  if (!driven.workflow) {
    co_return Error(ErrorCode::kFailedPrecondition,
                    "the workflow \"" + driven.state.workflow + "\" is not configured any more");
  }
  if (driven.workflow->digest() != driven.state.digest) {
    co_return Error(ErrorCode::kFailedPrecondition,
                    "the workflow \"" + driven.state.workflow +
                        "\" has changed since this instance began. Start a new instance, or "
                        "bring the old declaration back");
  }
  co_return Result<void>();
}

asio::awaitable<Result<void>> WorkflowService::Save(Driven& driven) {
  InstanceState& state = driven.state;
  state.number = driven.head_number + 1;
  const std::uint64_t max_bytes = driven.workflow->limits().state_bytes;
  auto bytes = Encode(state, max_bytes);
  if (!bytes && bytes.error().code() == ErrorCode::kResourceExhausted) {
    Fail(state, WorkflowFault::kLimit, bytes.error().message());
    state.outputs.clear();
    state.shared = Dict();
    bytes = Encode(state, max_bytes);
  }
  if (!bytes) co_return std::move(bytes).error();
  const CheckpointId id = IdOf(state.number);
  auto appended = co_await options_.checkpoints.Append(
      driven.owner, driven.instance, driven.head,
      {.id = id, .bytes = *std::move(bytes), .created_at = Now()});
  if (!appended && appended.error().code() == ErrorCode::kFailedPrecondition) {
    co_return Error(ErrorCode::kFailedPrecondition,
                    driven.head ? "another process continues this instance, or has continued it: "
                                  "look at it again"
                                : "there is an instance with this id already");
  }
  if (!appended) co_return std::move(appended).error().Context("store a checkpoint");
  driven.head = id;
  driven.head_number = state.number;
  if (state.number % kPruneEvery == 0) {
    // A failure leaves some checkpoints too many. The next one removes them.
    static_cast<void>(co_await options_.checkpoints.Prune(driven.owner, driven.instance,
                                                          options_.keep_checkpoints));
  }
  co_return Result<void>();
}

asio::awaitable<Result<WorkflowView>> WorkflowService::Look(IsolationKey owner,
                                                            InstanceId instance) {
  const auto head = co_await options_.checkpoints.Head(owner, instance);
  if (!head && head.error().code() == ErrorCode::kNotFound) co_return NoSuchInstance();
  if (!head) co_return head.error();
  auto state = DecodeInstanceState(head->bytes);
  if (!state) co_return std::move(state).error();
  const Driven driven{.owner = std::move(owner),
                      .instance = std::move(instance),
                      .state = *std::move(state),
                      .head = head->id};
  co_return driven.View();
}

asio::awaitable<Result<std::vector<CheckpointId>>> WorkflowService::Checkpoints(
    IsolationKey owner, InstanceId instance) {
  auto list = co_await options_.checkpoints.List(std::move(owner), std::move(instance));
  if (list && list->empty()) co_return NoSuchInstance();
  co_return list;
}

// ---- Starting and resuming ----

asio::awaitable<Result<WorkflowView>> WorkflowService::Start(IsolationKey owner,
                                                             StartInstance start) {
  auto workflow = Find(start.workflow);
  if (!workflow) {
    co_return Error(ErrorCode::kNotFound, "there is no workflow \"" + start.workflow + "\"");
  }
  const auto pass = Enter(owner);
  if (!pass) co_return pass.error();
  Driven driven{.owner = std::move(owner),
                .instance = start.instance ? *std::move(start.instance) : NewInstanceId(),
                .workflow = std::move(workflow),
                .caller = {},
                .on_event = std::move(start.on_event)};
  if (start.caller) driven.caller = start.caller->Record();
  co_return co_await WithoutThrowing(StartDriven(driven, std::move(start.input)));
}

asio::awaitable<Result<WorkflowView>> WorkflowService::StartDriven(Driven& driven, Value input) {
  driven.state = Begin(*driven.workflow, std::move(input));
  if (driven.state.status == InstanceStatus::kFailed) {
    co_return Error(ErrorCode::kInvalidArgument, driven.state.error);
  }
  if (auto saved = co_await Save(driven); !saved) co_return std::move(saved).error();
  co_return co_await Drive(driven);
}

asio::awaitable<Result<WorkflowView>> WorkflowService::Resume(IsolationKey owner,
                                                              ResumeInstance resume) {
  const auto pass = Enter(owner);
  if (!pass) co_return pass.error();
  Driven driven{.owner = std::move(owner),
                .instance = resume.instance,
                .caller = {},
                .on_event = resume.on_event};
  if (resume.caller) driven.caller = resume.caller->Record();
  co_return co_await WithoutThrowing(ResumeDriven(driven, std::move(resume)));
}

asio::awaitable<Result<WorkflowView>> WorkflowService::ResumeDriven(Driven& driven,
                                                                    ResumeInstance resume) {
  if (auto loaded = co_await Load(driven, resume.from); !loaded) {
    co_return std::move(loaded).error();
  }
  if (auto taken = co_await TakeAnswers(driven, resume); !taken) {
    co_return std::move(taken).error();
  }
  if (driven.state.number < driven.head_number) {  // An older one becomes the newest one.
    if (auto saved = co_await Save(driven); !saved) co_return std::move(saved).error();
  }
  co_return co_await Drive(driven);
}

// The answers are durable before anything follows from them.
asio::awaitable<Result<void>> WorkflowService::TakeAnswers(Driven& driven,
                                                           const ResumeInstance& resume) {
  if (resume.answers.empty()) co_return Result<void>();
  if (resume.answers.size() > kMaxAnswers) {
    co_return Error(ErrorCode::kInvalidArgument, "too many answers (at most 100)");
  }
  InstanceState answered = driven.state;
  std::vector<RequestId> own;
  for (const RequestAnswer& each : resume.answers) {
    const auto is_it = [&](const OpenRequest& open) { return open.id == each.request; };
    if (std::ranges::any_of(answered.inner_requests, is_it)) {
      driven.answers.push_back(each);
      continue;
    }
    if (auto taken = Answer(*driven.workflow, answered, each.request, each.answer); !taken) {
      co_return std::move(taken).error();
    }
    own.push_back(each.request);
  }
  driven.answered_by = resume.answered_by;
  if (own.empty()) co_return Result<void>();
  driven.state = std::move(answered);
  if (auto saved = co_await Save(driven); !saved) co_return std::move(saved).error();
  for (const RequestId& id : own) {
    if (options_.audit == nullptr) break;
    const auto body = ToJson(Value(Object({{"instance", driven.instance.str()},
                                           {"workflow", driven.state.workflow},
                                           {"request", id.str()},
                                           {"checkpoint", driven.head->str()},
                                           {"by", resume.answered_by}})));
    auto told = co_await options_.audit->Append(
        driven.owner, {.at = Now(), .kind = "workflow.answered", .body = body ? *body : "{}"});
    if (!told) co_return std::move(told).error().Context("record the answer in the audit log");
  }
  co_return Result<void>();
}

// ---- Supersteps ----

asio::awaitable<Result<WorkflowView>> WorkflowService::Drive(Driven& driven) {
  while (CanGoOn(driven.state)) {
    if (co_await IsCancelled()) {
      co_return Error(ErrorCode::kCancelled, "cancelled; the instance can be resumed");
    }
    const std::uint64_t before = driven.state.superstep;
    if (auto ran = co_await RunSuperstep(driven); !ran) co_return std::move(ran).error();
    if (driven.state.status != InstanceStatus::kRunning && driven.state.superstep == before) break;
  }
  co_return driven.View();
}

asio::awaitable<Result<void>> WorkflowService::RunSuperstep(Driven& driven) {
  InstanceState& state = driven.state;
  const std::optional<SystemTime> begun_before = state.begun_at;
  const auto plan = PlanOf(*driven.workflow, state);
  SuperstepBegan began{.superstep = state.superstep + 1};
  for (const PlannedStep& each : plan) began.executors.push_back(each.executor->id);
  const std::size_t outputs_before = state.outputs.size();
  std::vector<StepCall> calls;
  if (!plan.empty()) {
    const auto caller = CallerOf(driven);
    for (const PlannedStep& each : plan) {
      calls.push_back({.owner = driven.owner,
                       .instance = driven.instance,
                       .superstep = state.superstep + 1,
                       .index = each.index,
                       .executor = *each.executor,
                       .message = *each.message,
                       .state = state.shared,
                       .caller = caller,
                       .begun_before = begun_before});
    }
    // No effect begins before this process is the one that continues the instance.
    state.status = InstanceStatus::kRunning;
    if (!state.begun_at) state.begun_at = Now();
    if (auto saved = co_await Save(driven); !saved) co_return std::move(saved).error();
  }
  driven.Tell(std::move(began));

  std::vector<std::optional<Result<StepResult>>> results(calls.size());
  std::vector<SideBySide::Task> tasks;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    tasks.emplace_back([&, i]() -> asio::awaitable<void> {
      results[i] = co_await RunStep(driven, std::move(calls[i]));
    });
  }
  SideBySide side_by_side(std::move(tasks));
  const std::size_t workers =
      std::min<std::size_t>(calls.size(), driven.workflow->limits().steps_at_once);
  co_await side_by_side.Run(workers);

  state.approvals.clear();
  state.inner_requests.clear();
  std::vector<Value> outputs;
  bool waits = false;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i])
      co_return Error(ErrorCode::kCancelled, "cancelled; the instance can be resumed");
    if (!*results[i]) co_return std::move(*results[i]).error();
    StepResult& result = **results[i];
    const std::string& executor = state.deliveries[plan[i].index].to.str();
    if (auto* failed = std::get_if<StepFailed>(&result)) {
      Fail(state, failed->fault, "step \"" + executor + "\": " + failed->error);
      break;
    }
    if (auto* waiting = std::get_if<StepWaits>(&result)) {
      waits = true;
      for (OpenApproval& each : waiting->approvals) state.approvals.push_back(std::move(each));
      for (OpenRequest& each : waiting->requests) state.inner_requests.push_back(std::move(each));
    } else {
      outputs.push_back(std::move(std::get<StepDone>(result).output));
    }
  }
  if (state.status == InstanceStatus::kFailed) co_return co_await Save(driven);
  if (waits) {
    state.status = InstanceStatus::kWaiting;
    co_return co_await Save(driven);
  }
  Advance(*driven.workflow, state, {.instance = driven.instance, .now = Now()}, std::move(outputs));
  if (auto saved = co_await Save(driven); !saved) co_return std::move(saved).error();
  for (std::size_t i = outputs_before; i < state.outputs.size(); ++i) {
    driven.Tell(OutputSent{.output = state.outputs[i]});
  }
  driven.Tell(SuperstepEnded{.superstep = state.superstep, .checkpoint = *driven.head});
  co_return Result<void>();
}

asio::awaitable<Result<StepResult>> WorkflowService::RunStep(Driven& driven, StepCall call) {
  if (std::holds_alternative<SubWorkflowStep>(call.executor.step)) {
    return RunInner(driven, std::move(call));
  }
  return options_.steps.Run(std::move(call));
}

asio::awaitable<Result<StepResult>> WorkflowService::RunInner(Driven& driven, StepCall call) {
  auto id = InnerId(call);
  if (!id) co_return StepFailed{.fault = WorkflowFault::kType, .error = id.error().message()};
  Driven inner{.owner = driven.owner,
               .instance = *std::move(id),
               .workflow = std::get<SubWorkflowStep>(call.executor.step).workflow,
               .caller = driven.caller,
               .on_event = {}};
  auto view = co_await Look(inner.owner, inner.instance);
  if (!view && view.error().code() != ErrorCode::kNotFound) co_return std::move(view).error();
  if (!view) {
    view = co_await StartDriven(inner, std::move(call.message));
    if (!view && view.error().code() == ErrorCode::kInvalidArgument) {
      co_return StepFailed{.fault = WorkflowFault::kType, .error = view.error().message()};
    }
  } else {
    ResumeInstance resume{.instance = inner.instance, .answered_by = driven.answered_by};
    for (const RequestAnswer& each : driven.answers) {
      const auto is_it = [&](const OpenRequest& open) { return open.id == each.request; };
      if (std::ranges::any_of(view->requests, is_it)) resume.answers.push_back(each);
    }
    view = co_await ResumeDriven(inner, std::move(resume));
  }
  if (!view) co_return std::move(view).error();
  switch (view->status) {
    case InstanceStatus::kCompleted:
      co_return StepDone{.output = OutputOf(inner.state)};
    case InstanceStatus::kFailed:
      co_return StepFailed{.fault = view->fault, .error = view->error};
    default:
      co_return StepWaits{.approvals = view->approvals, .requests = view->requests};
  }
}

}  // namespace caisson
