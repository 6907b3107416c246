#include "agent/live_turn.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <utility>

#include "agent/call_results.h"
#include "agent/execute_code.h"
#include "agent/instructions.h"
#include "agent/turn_items.h"
#include "approval/desk.h"
#include "approval/presentation.h"
#include "base/utf8.h"

namespace caisson {
namespace {

using Clock_ = std::chrono::steady_clock;

// How soon a run is looked at again whose decision has been stored and has not taken effect yet.
constexpr std::chrono::milliseconds kLookAgain{2};
constexpr std::chrono::milliseconds kLookAgainAtMost{100};
// A run that works is awaited this long, and then again.
constexpr std::chrono::seconds kAwaitAtOnce{10};

void AddParagraph(std::string& text, const std::string& more) {
  if (more.empty()) return;
  if (!text.empty()) text.append("\n\n");
  text.append(more);
}

std::vector<model::ToolDeclaration> DeclarationsOf(const ToolSet& tools) {
  std::vector<model::ToolDeclaration> declarations;
  for (const auto& tool : tools.tools()) {
    declarations.push_back({.name = tool->name(),
                            .description = tool->definition().description,
                            .input_schema = tool->definition().input_schema});
  }
  return declarations;
}

bool IsTransient(const Error& error) {
  return error.code() == ErrorCode::kUnavailable || error.code() == ErrorCode::kNoSpace;
}

}  // namespace

LiveTurn::LiveTurn(RunService& runs, const Clock& clock, TurnStart start, TurnKeeper& keeper,
                   asio::any_io_executor executor)
    : runs_(runs),
      clock_(clock),
      start_(std::move(start)),
      keeper_(keeper),
      stop_(std::move(executor)),
      output_(record().view.output, record().progress.events, start_.open,
              // Events of a turn that this replica has lost are ignored.
              [this](const TurnEvent& event) {
                if (!is_lost()) keeper_.OnEvent(event);
              }) {}

std::uint32_t LiveTurn::max_calls() const {
  return std::min(limits().calls, record().spec.max_calls.value_or(limits().calls));
}

void LiveTurn::EndSoon(Why why) {
  Why expected = Why::kNotStopped;
  if (why_.compare_exchange_strong(expected, why)) stop_.Request();
}

asio::awaitable<bool> LiveTurn::Stopped() {
  if (co_await IsCancelled()) {
    Why expected = Why::kNotStopped;
    why_.compare_exchange_strong(expected, Why::kCancelled);
  }
  co_return is_stopped();
}

asio::awaitable<void> LiveTurn::Live() {
  const auto self = shared_from_this();
  co_await asio::this_coro::throw_if_cancelled(false);
  TurnProgress& progress = record().progress;
  const auto begun = Clock_::now();
  asio::steady_timer wall(stop_.executor(),
                          std::max<std::chrono::nanoseconds>(limits().wall - progress.active, {}));
  wall.async_wait([weak = weak_from_this()](boost::system::error_code error) {
    const auto turn = weak.lock();
    if (!error && turn) turn->EndSoon(Why::kWallTime);
  });
  record().view.state = TurnState::kRunning;
  if (!start_.is_taken) output_.Begin();
  co_await Work();
  wall.cancel();
  progress.active += Clock_::now() - begun;
  if (is_lost()) co_return;
  for (std::size_t i = 0; i < output_.size(); ++i) {
    if (!output_.is_open(i)) continue;
    if (IsCall(output_.at(i))) Fail(output_.at(i), "The call was not made: the turn has ended.");
    output_.Done(i);
  }
  TurnView& view = record().view;
  view.ended_at = clock_.Now();
  auto stored = co_await keeper_.StoreEnd(record());
  if (is_lost()) co_return;
  if (!stored) {
    End(TurnState::kFailed, TurnEnding::kStore,
        "the turn could not be stored: " + stored.error().message());
  }
  output_.End(view.state);
}

void LiveTurn::End(TurnState state, TurnEnding ending, std::string error) {
  TurnView& view = record().view;
  view.state = state;
  view.ending = ending;
  view.error = std::move(error);
}

void LiveTurn::EndStopped() {
  switch (why_.load()) {
    case Why::kWallTime:
      return End(TurnState::kIncomplete, TurnEnding::kWallTime);
    case Why::kShutdown:
      return End(TurnState::kFailed, TurnEnding::kNone,
                 "the server is shutting down; send the request again");
    case Why::kNotStopped:
    case Why::kCancelled:
    case Why::kLost:
      return End(TurnState::kCancelled);
  }
}

bool LiveTurn::HasNews() const {
  const auto& input = record().view.input;
  for (std::size_t i = BeginOfNews(input); i < input.size(); ++i) {
    if (std::holds_alternative<model::MessageItem>(input[i].content) ||
        std::holds_alternative<ClientResult>(input[i].content)) {
      return true;
    }
  }
  return false;
}

ItemRefs LiveTurn::AllItems() const {
  ItemRefs items;
  for (const auto* part : {&start_.history, &record().view.input}) {
    for (const TurnItem& item : *part) items.push_back(&item);
  }
  // An item that a lost replica left unfinished is left out: the model writes it again.
  for (const TurnItem& item : record().view.output) {
    if (!item.is_cut) items.push_back(&item);
  }
  return items;
}

asio::awaitable<void> LiveTurn::Work() {
  setting_ = start_.agent->setting.For(start_.caller.get());
  co_await TakeResults();
  if (fault_) co_return End(TurnState::kFailed, TurnEnding::kStore, fault_->message());
  if (co_await Stopped()) co_return co_await CancelWaiting();
  const bool only_answers = !start_.decided.empty() || !HasNews();
  if (!waiting_.empty() && only_answers) {
    co_await AskForApprovals();
    co_return End(TurnState::kWaiting);
  }
  if (start_.is_taken && !co_await ContinueCalls()) co_return;
  PrepareRequest();
  if (!co_await AddContext()) co_return;
  while (true) {
    if (record().progress.replies >= limits().iterations) {
      co_return End(TurnState::kIncomplete, TurnEnding::kIterations);
    }
    std::vector<CallOfReply> calls;
    if (!co_await Ask(calls)) co_return;
    if (calls.empty()) co_return End(TurnState::kCompleted);
    if (!co_await MakeCalls(calls)) co_return;
  }
}

// A turn that is cancelled takes the calls along that wait because of it.
asio::awaitable<void> LiveTurn::CancelWaiting() {
  EndStopped();
  if (why_.load() != Why::kCancelled) co_return;
  for (std::size_t i = 0; i < output_.size(); ++i) {
    TurnItem& item = output_.at(i);
    if (!IsCall(item) || ProgressOf(item) != CallProgress::kWaiting) continue;
    const auto run = co_await runs_.Cancel(start_.owner, RunOf(item));
    if (run && run->state == RunState::kFinished) Fill(item, *run);
  }
}

// ---- Calls of earlier turns ----

asio::awaitable<void> LiveTurn::TakeResults() {
  // With its output: a turn that was taken over may have taken some results before.
  ItemRefs past;
  for (const auto* part : {&start_.history, &start_.adopted, &record().view.output}) {
    for (const TurnItem& item : *part) past.push_back(&item);
  }
  std::vector<TurnItem> calls = WaitingCalls(past);
  for (TurnItem& call : calls) Begin(TakeResult(std::move(call)));
  co_await AwaitAll();
}

asio::awaitable<void> LiveTurn::TakeResult(TurnItem call) {
  const auto run = co_await AwaitSettled(RunOf(call));
  auto ended = EndedCall(std::move(call), run);
  if (!ended) co_return;
  co_await TellChanges(*ended);
  Publish(*std::move(ended));
}

// The model knows only the arguments that it wrote.
asio::awaitable<void> LiveTurn::TellChanges(TurnItem& ended) {
  HostToolCall* const tool = ToolOf(ended);
  if (tool == nullptr || !tool->approval) co_return;
  const auto approval = co_await runs_.FindApproval(start_.owner, *tool->approval);
  if (!approval || !approval->decision || !approval->decision->edited) co_return;
  tool->output.insert(0, "The person who approved this call changed its arguments to " +
                             approval->decision->edited->text + "\n");
}

// Returns the call with its result, as an item of this turn; nullopt if it still waits.
std::optional<TurnItem> LiveTurn::EndedCall(TurnItem call, const Result<RunView>& run) {
  if (run && run->state != RunState::kFinished) {
    if (run->state == RunState::kWaiting) waiting_.insert_or_assign(call.id, *run);
    return std::nullopt;
  }
  if (!run && run.error().code() == ErrorCode::kCancelled) return std::nullopt;
  if (!run && IsTransient(run.error())) {
    fault_ = run.error();
    return std::nullopt;
  }
  call.id = NewTurnItemId(PrefixOf(call));
  if (HostToolCall* const tool = ToolOf(call)) tool->approval = ApprovalIdOf(tool->run, 0);
  if (run) {
    Fill(call, *run);
  } else {
    Fail(call, "The call is gone: " + run.error().message());
  }
  return call;
}

void LiveTurn::Publish(TurnItem ended) {
  TurnItem begun = ended;
  if (CodeCall* const code = CodeOf(begun)) {
    *code = {.call_id = code->call_id, .code = "", .run = code->run};
  } else if (HostToolCall* const tool = ToolOf(begun)) {
    tool->arguments.clear();
    tool->output.clear();
    tool->progress = CallProgress::kRunning;
    tool->is_error = false;
  }
  const std::size_t index = output_.Add(std::move(begun));
  if (const CodeCall* const code = CodeOf(ended)) {
    output_.Delta(index, ItemDelta::Kind::kCode, code->code);
  } else {
    output_.Delta(index, ItemDelta::Kind::kArguments, ToolOf(ended)->arguments);
  }
  output_.at(index) = std::move(ended);
  output_.Done(index);
}

asio::awaitable<bool> LiveTurn::IsSettled(const RunView& view) {
  const auto& approvals = view.outcome.approvals;
  // A run that sleeps, or is being taken up after its decision, goes on by itself.
  if (approvals.empty()) co_return false;
  // A view of the store shows the pending approvals; the call of a decided one is still pending.
  const auto pending = std::ranges::count(view.outcome.calls, "pending", &OutcomeCall::outcome);
  if (static_cast<std::size_t>(pending) != approvals.size()) co_return false;
  // A view of a live run is as the run knows it, and it may not know a decision yet.
  for (const OutcomeApproval& open : approvals) {
    const ApprovalId id(open.id);
    if (start_.decided.contains(id)) co_return false;
    const auto approval = co_await runs_.FindApproval(start_.owner, id);
    if (approval && approval->state != ApprovalState::kPending) co_return false;
  }
  co_return true;
}

// Returns when the run has ended, or waits for nothing that has been decided.
asio::awaitable<Result<RunView>> LiveTurn::AwaitSettled(RunId run) {
  auto pause = kLookAgain;
  auto view = co_await runs_.Find(start_.owner, run);
  while (view && view->state != RunState::kFinished) {
    if (view->state == RunState::kWaiting && co_await IsSettled(*view)) co_return view;
    if (co_await IsCancelled()) {
      co_return Error(ErrorCode::kCancelled, "cancelled while waiting for the run");
    }
    const bool works = view->state == RunState::kRunning;
    const Clock_::duration longest = works ? Clock_::duration(kAwaitAtOnce) : pause;
    if (!works) pause = std::min(2 * pause, kLookAgainAtMost);
    view = co_await runs_.Await(start_.owner, run, ApprovalIds(*view), Clock_::now() + longest);
  }
  co_return view;
}

// ---- The model ----

void LiveTurn::PrepareRequest() {
  const TurnSpec& spec = record().spec;
  const Agent& agent = *start_.agent;
  request_ = {.instructions = agent.instructions,
              .tool_choice = spec.tool_choice,
              .parallel_tool_calls = spec.parallel_tool_calls,
              .max_output_tokens = spec.max_output_tokens,
              .temperature = spec.temperature,
              .top_p = spec.top_p};
  if (agent.code == Agent::Code::kOn) {
    AddParagraph(request_.instructions, Instructions(*setting_, ToolsVisible::kNo));
    request_.tools.push_back(
        {.name = std::string(kExecuteCode),
         .description = Description(*setting_),
         .input_schema = ExecuteCodeSchema(ExecuteCodeOptions::Sessions::kNotOffered)});
  } else {
    request_.tools = DeclarationsOf(*setting_->tools);
  }
  AddParagraph(request_.instructions, spec.instructions);
  request_.tools.insert(request_.tools.end(), spec.client_tools.begin(), spec.client_tools.end());
}

// Returns false if the turn has ended.
asio::awaitable<bool> LiveTurn::AddContext() {
  if (start_.agent->providers.empty()) co_return true;
  TurnSpec turn = record().spec;
  turn.agent = start_.agent->name;
  turn.input = record().view.input;
  turn.previous = record().view.previous;
  turn.conversation = record().view.conversation;
  turn.caller = start_.caller;
  for (const auto& provider : start_.agent->providers) {
    auto added = co_await provider->Provide(start_.owner, turn);
    if (co_await Stopped()) {
      EndStopped();
      co_return false;
    }
    if (!added) {
      End(TurnState::kFailed, TurnEnding::kNone, added.error().message());
      co_return false;
    }
    AddParagraph(request_.instructions, added->instructions);
    for (model::Item& item : added->items) request_.items.push_back(std::move(item));
  }
  co_return true;
}

model::ModelRequest LiveTurn::MakeRequest() const {
  model::ModelRequest request = request_;
  auto items = ToModelItems(AllItems());
  request.items.insert(request.items.end(), std::move_iterator(items.begin()),
                       std::move_iterator(items.end()));
  // Otherwise the model could never answer.
  const bool forced = request.tool_choice.mode == model::ToolChoice::Mode::kRequired ||
                      request.tool_choice.mode == model::ToolChoice::Mode::kNamed;
  if (forced && record().progress.replies > 0) request.tool_choice = {};
  return request;
}

CallKind LiveTurn::KindOf(const std::string& tool) const {
  const auto& clients = record().spec.client_tools;
  const bool is_clients = std::ranges::any_of(
      clients, [&](const model::ToolDeclaration& each) { return each.name == tool; });
  if (is_clients) return CallKind::kClient;
  const bool is_code = start_.agent->code == Agent::Code::kOn && tool == kExecuteCode;
  return is_code ? CallKind::kCode : CallKind::kTool;
}

asio::awaitable<bool> LiveTurn::Ask(std::vector<CallOfReply>& calls) {
  ReplyItems items(output_, [this](const std::string& tool) { return KindOf(tool); });
  auto reply = co_await start_.agent->model->Generate(
      MakeRequest(), [&items](const model::Delta& delta) { items.OnDelta(delta); });
  ++record().progress.replies;
  if (!reply) {
    items.Cut();
    if (co_await Stopped()) {
      co_await CancelWaiting();
    } else {
      End(TurnState::kFailed, TurnEnding::kModel, reply.error().message());
    }
    co_return false;
  }
  TurnView& view = record().view;
  view.model = reply->model;
  view.usage.input += reply->usage.input;
  view.usage.cached_input += reply->usage.cached_input;
  view.usage.output += reply->usage.output;
  view.usage.reasoning += reply->usage.reasoning;
  calls = items.Finish(*reply);
  if (co_await Stopped()) {
    co_await CancelWaiting();
    co_return false;
  }
  co_return !EndsHere(*reply);
}

bool LiveTurn::EndsHere(const model::ModelReply& reply) {
  if (reply.finish == model::Finish::kLength) {
    End(TurnState::kIncomplete, TurnEnding::kOutputTokens);
    return true;
  }
  if (reply.finish == model::Finish::kContentFilter) {
    End(TurnState::kIncomplete, TurnEnding::kContentFilter);
    return true;
  }
  const model::TokenUsage& usage = record().view.usage;
  const bool has_calls = std::ranges::any_of(reply.items, [](const model::Item& item) {
    return std::holds_alternative<model::ToolCallItem>(item);
  });
  if (!has_calls || usage.input + usage.output <= limits().tokens) return false;
  End(TurnState::kIncomplete, TurnEnding::kTokens);
  return true;
}

// ---- Calls of this turn ----

void LiveTurn::Begin(asio::awaitable<void> work) {
  Stop stop(stop_.executor());
  ++at_work_;
  stops_.push_back(stop);
  // A new coroutine is ended by an exception when it is cancelled, and an exception that leaves a
  // spawned coroutine ends the program. The work asks IsCancelled() instead.
  const auto quietly = [](asio::awaitable<void> its_work) -> asio::awaitable<void> {
    co_await asio::this_coro::throw_if_cancelled(false);
    co_await std::move(its_work);
  };
  Spawn(stop, quietly(std::move(work)), [self = shared_from_this()] {
    --self->at_work_;
    if (self->news_) self->news_->Wake();
  });
}

asio::awaitable<void> LiveTurn::AwaitAll() {
  bool asked = false;
  while (at_work_ > 0) {
    if (!asked && co_await Stopped()) {
      asked = true;
      for (const Stop& stop : stops_) stop.Request();
    }
    news_ = std::make_shared<Wakeup>();
    co_await news_->Sleep();
  }
  stops_.clear();
  news_.reset();
}

// The calls that may be made. The others have their end.
std::vector<CallOfReply> LiveTurn::Admitted(const std::vector<CallOfReply>& calls) {
  std::vector<CallOfReply> admitted;
  for (const CallOfReply& call : calls) {
    TurnItem& item = output_.at(call.index);
    if (!IsCall(item)) continue;
    if (record().progress.calls >= max_calls()) {
      Fail(item, "The call was not made: this turn may make " + std::to_string(max_calls()) +
                     " calls, and they have been made.");
      output_.Done(call.index);
      continue;
    }
    ++record().progress.calls;
    admitted.push_back(call);
  }
  return admitted;
}

asio::awaitable<bool> LiveTurn::MakeCalls(const std::vector<CallOfReply>& calls) {
  const std::vector<CallOfReply> own = Admitted(calls);
  const auto is_call = [&](const CallOfReply& call) { return IsCall(output_.at(call.index)); };
  const bool has_clients = !std::ranges::all_of(calls, is_call);
  const bool is_over = own.size() < static_cast<std::size_t>(std::ranges::count_if(calls, is_call));
  if (auto stored = co_await keeper_.StoreStep(record()); !stored) {
    End(TurnState::kFailed, TurnEnding::kStore,
        "the turn could not be stored: " + stored.error().message());
    co_return false;
  }
  for (const CallOfReply& call : own) Begin(MakeCall(call.index, call.arguments));
  co_return co_await AwaitCalls(own, has_clients, is_over);
}

asio::awaitable<bool> LiveTurn::ContinueCalls() {
  std::vector<CallOfReply> own;
  bool has_clients = false;
  for (std::size_t i = 0; i < output_.size(); ++i) {
    TurnItem& item = output_.at(i);
    if (std::holds_alternative<ClientCall>(item.content) && !item.is_cut) has_clients = true;
    if (!output_.is_open(i)) continue;
    if (!IsCall(item) || item.is_cut) {
      // The model had not finished it, or the call was not stored and so not made.
      if (IsCall(item)) Fail(item, "The call was not made: its replica was lost.");
      output_.Done(i);
    } else {
      const CodeCall* const code = CodeOf(item);
      own.push_back(
          {.index = i,
           .arguments = code != nullptr ? CodeArgumentsText(code->code) : ToolOf(item)->arguments});
    }
  }
  const bool waits = std::ranges::any_of(
      output_.items(), [&](const TurnItem& item) { return waiting_.contains(item.id); });
  if (own.empty() && !has_clients && !waits) co_return true;
  for (const CallOfReply& call : own) Begin(MakeCall(call.index, call.arguments));
  if (!co_await AwaitCalls(own, has_clients, false)) co_return false;
  if (!waits) co_return true;
  co_await AskForApprovals();
  End(TurnState::kWaiting);
  co_return false;
}

asio::awaitable<bool> LiveTurn::AwaitCalls(const std::vector<CallOfReply>& own, bool has_clients,
                                           bool is_over) {
  co_await AwaitAll();
  if (co_await Stopped()) {
    co_await CancelWaiting();
    co_return false;
  }
  const auto waits = [&](const CallOfReply& call) {
    return ProgressOf(output_.at(call.index)) == CallProgress::kWaiting;
  };
  const bool is_waiting = std::ranges::any_of(own, waits);
  if (is_waiting) co_await AskForApprovals();
  if (is_waiting || has_clients) {
    End(TurnState::kWaiting);
    co_return false;
  }
  if (is_over) {
    End(TurnState::kIncomplete, TurnEnding::kCalls);
    co_return false;
  }
  const bool all_failed = !own.empty() && std::ranges::all_of(own, [&](const CallOfReply& call) {
    return IsFailure(output_.at(call.index));
  });
  std::uint32_t& failures = record().progress.failures;
  failures = all_failed ? failures + 1 : 0;
  if (failures <= limits().consecutive_errors) co_return true;
  End(TurnState::kIncomplete, TurnEnding::kErrors);
  co_return false;
}

asio::awaitable<void> LiveTurn::MakeCall(std::size_t index, std::string arguments) {
  auto spec = SpecOf(output_.at(index), arguments);
  if (!spec) co_return FinishCall(index, std::move(spec).error());
  FinishCall(index, co_await StartRun(index, *std::move(spec)));
}

Result<RunSpec> LiveTurn::SpecOf(const TurnItem& call, const std::string& arguments) {
  RunSpec spec{
      .setting = setting_, .setting_name = "agent:" + start_.agent->name, .caller = start_.caller};
  // A turn that is not kept cannot wait, and leaves nothing behind.
  if (start_.keep == TurnSpec::Keep::kNo) {
    spec.approvals = Approvals::kNone;
    spec.keep = KeepRun::kNo;
  }
  if (std::holds_alternative<CodeCall>(call.content)) {
    TRY_ASSIGN(CodeArguments code, ParseCodeArguments(arguments));
    spec.code = std::move(code.code);
    TRY_ASSIGN(spec.limits, RequestedLimits(code.all, setting_->limits));
    return spec;
  }
  const std::string& tool = std::get<HostToolCall>(call.content).tool;
  if (start_.agent->code == Agent::Code::kOn || setting_->tools->Find(tool) == nullptr) {
    return start_.agent->code == Agent::Code::kOn
               ? Error(ErrorCode::kNotFound, "there is no tool \"" + ToUtf8(tool) +
                                                 "\"; the only tool is execute_code, and its code "
                                                 "calls the functions that it offers")
               : setting_->tools->NoSuchTool(tool);
  }
  TRY_ASSIGN(Dict given, ParseArguments(arguments));
  spec.call = DirectCall{.tool = tool, .arguments = std::move(given)};
  return spec;
}

asio::awaitable<Result<RunView>> LiveTurn::StartRun(std::size_t index, RunSpec spec) {
  spec.key = keeper_.KeyOf(output_.at(index));
  // Another replica continues it.
  if (spec.key) spec.journal = RunJournaling::kAlways;
  spec.on_start = [this, index](const RunId& id) { SetRun(output_.at(index), id); };
  // Output comes on the executor of the cell.
  spec.on_output = [weak = weak_from_this(), executor = stop_.executor(), index](
                       OutputStream, std::string_view bytes) {
    asio::post(executor, [weak, index, text = ToUtf8(bytes)]() mutable {
      const auto self = weak.lock();
      if (self && self->output_.is_open(index)) {
        self->output_.Delta(index, ItemDelta::Kind::kOutput, std::move(text));
      }
    });
  };
  const auto key = spec.key;
  auto run = co_await runs_.Start(start_.owner, std::move(spec));
  if (!run && key && run.error().code() == ErrorCode::kFailedPrecondition) {
    // Another replica has started it.
    const auto known = co_await runs_.FindByKey(start_.owner, key->id);
    if (!known) co_return known.error();
    SetRun(output_.at(index), known->run);
    co_return co_await AwaitSettled(known->run);
  }
  // A run with a key outlives its caller.
  const bool goes_on = run && run->state == RunState::kRunning;
  if (goes_on && why_.load() != Why::kLost) {
    co_return co_await runs_.Cancel(start_.owner, run->id);
  }
  co_return run;
}

void LiveTurn::FinishCall(std::size_t index, const Result<RunView>& run) {
  TurnItem& item = output_.at(index);
  if (run && run->state == RunState::kRunning) return;  // Another replica has the turn.
  if (run) {
    Fill(item, *run);
    if (run->state == RunState::kWaiting) waiting_.insert_or_assign(item.id, *run);
  } else {
    Fill(item, run.error());
  }
  output_.Done(index);
}

// Asks in the order in which the calls were made.
asio::awaitable<void> LiveTurn::AskForApprovals() {
  const std::set<ApprovalId> asked = ApprovalsIn(output_.items()).asked;
  std::vector<std::string> calls;
  for (const auto* part : {&start_.history, &start_.adopted, &record().view.output}) {
    for (const TurnItem& item : *part) {
      if (waiting_.contains(item.id)) calls.push_back(item.id);
    }
  }
  for (const std::string& call : calls) {
    for (const OutcomeApproval& open : waiting_.at(call).outcome.approvals) {
      if (!asked.contains(ApprovalId(open.id))) co_await AskFor(call, ApprovalId(open.id));
    }
  }
}

asio::awaitable<void> LiveTurn::AskFor(std::string call_item, ApprovalId id) {
  const auto approval = co_await runs_.FindApproval(start_.owner, std::move(id));
  if (!approval || approval->state != ApprovalState::kPending) co_return;
  const auto shown = Present(approval->asked);
  output_.AddWhole({.id = NewTurnItemId("mcpr_"),
                    .content = ApprovalRequest{
                        .approval = approval->asked.id,
                        .call_item = std::move(call_item),
                        .tool = approval->asked.binding.tool,
                        // The approval desk refuses to approve arguments that cannot be shown.
                        .arguments = shown ? shown->whole : "",
                        .expires_at = approval->asked.expires_at}});
}

}  // namespace caisson
