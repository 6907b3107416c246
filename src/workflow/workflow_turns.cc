#include "workflow/workflow_turns.h"

#include <algorithm>
#include <boost/asio/this_coro.hpp>
#include <optional>
#include <utility>

#include "agent/turn_items.h"
#include "agent/turn_output.h"
#include "agent/turn_record.h"
#include "engine/outcome.h"
#include "wire/canonical_json.h"
#include "wire/json.h"
#include "wire/object.h"
#include "workflow/message_type.h"

namespace caisson {
namespace {

constexpr std::int64_t kFormat = 1;

Error Invalid(std::string what) {
  return Error(ErrorCode::kInvalidArgument, std::move(what));
}
// One answer for what does not exist, belongs to others, or was answered before (I4).
Error NoSuchQuestion() {
  return Invalid("the workflow does not wait for this answer");
}

std::string NewId(std::string_view prefix) {
  return std::string(prefix) + NewRunId().substr(std::string_view("run_").size());
}

std::string Encode(const InstanceId& instance, const TurnView& view) {
  std::string bytes;
  // A Dict of three fields is never nested too deeply.
  static_cast<void>(
      EncodeValue(Value(Object({{"workflow_turn", kFormat},
                                {"instance", instance.str()},
                                {"turn", Bytes{caisson::Encode(TurnRecord{.view = view})}}})),
                  bytes));
  return bytes;
}

Result<std::string> TextOf(const std::vector<model::Part>& parts) {
  std::string text;
  for (const model::Part& part : parts) {
    const auto* piece = std::get_if<model::TextPart>(&part);
    if (piece == nullptr) return Invalid("workflows take text and JSON, no images or files");
    text += piece->text;
  }
  return text;
}

// The text as JSON if that fits, else as a string. `first`: which of the two is preferred.
enum class Prefer { kJson, kText };
std::optional<Value> Coerce(const std::string& text, const MessageType& type, Prefer first) {
  auto json = ParseJson(text);
  std::optional<Value> as_json;
  if (json && !type.Check(*json)) as_json = *std::move(json);
  std::optional<Value> as_text;
  if (!type.Check(Value(text))) as_text = Value(text);
  if (first == Prefer::kText && as_text) return as_text;
  return as_json ? as_json : as_text;
}

// What the client has sent.
struct GivenInput {
  std::optional<std::string> text{};                           // Of the last message.
  std::vector<std::pair<std::string, std::string>> results{};  // Call id, text.
  std::vector<ApprovalAnswer> approvals{};
  bool has_answers() const { return !results.empty() || !approvals.empty(); }
};

Result<GivenInput> ReadInput(const std::vector<TurnItem>& items) {
  GivenInput given;
  for (const TurnItem& item : items) {
    if (const auto* message = std::get_if<model::MessageItem>(&item.content)) {
      if (message->role != model::Role::kUser) continue;
      TRY_ASSIGN(given.text, TextOf(message->parts));
    } else if (const auto* result = std::get_if<ClientResult>(&item.content)) {
      TRY_ASSIGN(std::string text, TextOf(result->parts));
      given.results.emplace_back(result->call_id, std::move(text));
    } else if (const auto* answer = std::get_if<ApprovalAnswer>(&item.content)) {
      given.approvals.push_back(*answer);
    }
  }
  return given;
}

Result<void> CheckSpec(const TurnSpec& spec) {
  if (spec.style == TurnSpec::Style::kBackground) {
    return Invalid("workflows have no background turns: start this one in the foreground");
  }
  if (spec.conversation) {
    return Invalid("workflows have no conversations: name the previous turn instead");
  }
  if (!spec.client_tools.empty()) return Invalid("workflows do not call tools of the client");
  return {};
}

std::string TextOf(const Value& value) {
  if (const auto* text = value.If<std::string>()) return *text;
  const auto json = ToJson(value);
  return json ? *json : "null";
}

}  // namespace

// One turn while it runs here.
class WorkflowTurns::Live {
 public:
  Live(IsolationKey its_owner, TurnSpec its_spec, ResponseId id, OnTurnEvent on_event,
       SystemTime now)
      : owner(std::move(its_owner)),
        spec(std::move(its_spec)),
        view{.id = std::move(id),
             .agent = spec.agent,
             .input = spec.input,
             .previous = spec.previous,
             .door_data = spec.door_data,
             .created_at = now},
        output_(view.output, 0, {}, std::move(on_event)) {}
  Live(const Live&) = delete;
  Live& operator=(const Live&) = delete;

  void Begin() {
    if (!std::exchange(has_begun_, true)) output_.Begin();
  }
  bool has_begun() const { return has_begun_; }

  void Hear(const WorkflowEvent& event) {
    Begin();
    const auto* sent = std::get_if<OutputSent>(&event);
    if (sent == nullptr) return;
    const std::size_t at =
        output_.Add({.id = NewTurnItemId("msg_"),
                     .content = model::MessageItem{.role = model::Role::kAssistant, .parts = {}}});
    std::string text = TextOf(sent->output.value);
    output_.Delta(at, ItemDelta::Kind::kText, text);
    std::get<model::MessageItem>(output_.at(at).content).parts = {
        model::TextPart{.text = std::move(text)}};
    output_.Done(at);
  }

  const IsolationKey owner;
  const TurnSpec spec;
  TurnView view;
  InstanceId instance{""};
  GivenInput given{};
  std::vector<RequestAnswer> answers{};
  bool is_stored = false;

  TurnOutput& output() { return output_; }
  OnWorkflowEvent hearing() {
    return [this](const WorkflowEvent& event) { Hear(event); };
  }

 private:
  TurnOutput output_;
  bool has_begun_ = false;
};

// The entry of a turn among those that run here.
class WorkflowTurns::Entry {
 public:
  Entry(WorkflowTurns& turns, const Live& live) : turns_(turns), key_(live.owner, live.view.id) {
    is_first_ = turns_.live_.Lock()->insert(key_).second;
  }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;
  ~Entry() {
    if (is_first_) turns_.live_.Lock()->erase(key_);
  }

 private:
  WorkflowTurns& turns_;
  const std::pair<IsolationKey, ResponseId> key_;
  bool is_first_ = false;  // Another turn may have asked for the same id; it is refused.
};

std::vector<AgentInfo> WorkflowTurns::Agents() const {
  std::vector<AgentInfo> infos;
  for (const auto& each : options_.workflows.workflows()) {
    infos.push_back({.name = each->name(), .description = each->parts().description});
  }
  return infos;
}

SystemTime WorkflowTurns::Now() const {
  return options_.clock != nullptr ? options_.clock->Now() : system_clock_.Now();
}

asio::awaitable<Result<WorkflowTurns::Stored>> WorkflowTurns::Load(IsolationKey owner,
                                                                   ResponseId id) {
  const Error missing(ErrorCode::kNotFound, "no such response");
  const auto stored = co_await options_.responses.Find(std::move(owner), std::move(id));
  if (!stored && stored.error().code() == ErrorCode::kNotFound) co_return missing;
  if (!stored) co_return stored.error();
  const auto body = DecodeValue(stored->body);
  const auto* dict = body ? body->If<Dict>() : nullptr;
  const auto* instance = dict == nullptr ? nullptr : FindAs<std::string>(*dict, "instance");
  const auto* turn = dict == nullptr ? nullptr : FindAs<Bytes>(*dict, "turn");
  // A turn of an agent: not one of ours.
  if (instance == nullptr || turn == nullptr || dict->Find("workflow_turn") == nullptr) {
    co_return missing;
  }
  auto record = DecodeTurnRecord(turn->data);
  if (!record) co_return std::move(record).error();
  Stored found{.view = std::move(record->view), .instance = InstanceId(*instance)};
  found.view.id = stored->id;
  found.view.previous = stored->previous;
  found.view.created_at = stored->created_at;
  co_return found;
}

asio::awaitable<Result<TurnView>> WorkflowTurns::Find(IsolationKey owner, ResponseId id) {
  auto stored = co_await Load(std::move(owner), std::move(id));
  if (!stored) co_return std::move(stored).error();
  co_return std::move(stored->view);
}

asio::awaitable<Result<TurnView>> WorkflowTurns::Cancel(IsolationKey owner, ResponseId id) {
  return Find(std::move(owner), std::move(id));
}

asio::awaitable<Result<void>> WorkflowTurns::Events(IsolationKey owner, ResponseId id,
                                                    std::uint64_t /*from*/,
                                                    OnTurnEvent /*on_event*/) {
  const auto stored = co_await Load(std::move(owner), std::move(id));
  if (!stored) co_return stored.error();
  co_return Error(ErrorCode::kFailedPrecondition, "a turn of a workflow keeps no events");
}

asio::awaitable<Result<void>> WorkflowTurns::Remove(IsolationKey owner, ResponseId id) {
  const auto stored = co_await Load(owner, id);
  if (!stored) co_return stored.error();
  if (!HasEnded(stored->view.state) && IsLive(owner, id)) {
    co_return Error(ErrorCode::kFailedPrecondition, "the turn runs");
  }
  co_return co_await options_.responses.Remove(std::move(owner), std::move(id));
}

asio::awaitable<Result<TurnView>> WorkflowTurns::StartDetached(IsolationKey, TurnSpec spec) {
  spec.style = TurnSpec::Style::kBackground;
  co_return CheckSpec(spec).error();
}

asio::awaitable<void> WorkflowTurns::Close() {
  co_await gate_.Close();
}

asio::awaitable<Result<TurnView>> WorkflowTurns::Start(IsolationKey owner, TurnSpec spec,
                                                       OnTurnEvent on_event) {
  const auto pass = gate_.Enter();
  if (!pass) co_return Error(ErrorCode::kUnavailable, "shutting down: new turns are not accepted");
  // What has happened is stored also if the client has gone.
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  auto turn = co_await Run(std::move(owner), std::move(spec), std::move(on_event));
  co_await asio::this_coro::throw_if_cancelled(throws);
  co_return turn;
}

asio::awaitable<Result<TurnView>> WorkflowTurns::Run(IsolationKey owner, TurnSpec spec,
                                                     OnTurnEvent on_event) {
  const auto workflow = options_.workflows.Find(spec.agent);
  if (!workflow)
    co_return Error(ErrorCode::kNotFound, "there is no workflow \"" + spec.agent + "\"");
  if (auto fits = CheckSpec(spec); !fits) co_return std::move(fits).error();
  ResponseId id = spec.id.value_or(ResponseId(NewId("resp_")));
  Live live(std::move(owner), std::move(spec), std::move(id), std::move(on_event), Now());
  auto given = ReadInput(live.spec.input);
  if (!given) co_return std::move(given).error();
  live.given = *std::move(given);
  const Entry entry(*this, live);

  std::optional<Stored> previous;
  bool was_lost = false;
  if (live.spec.previous) {
    auto found = co_await Load(live.owner, *live.spec.previous);
    if (!found) co_return std::move(found).error();
    was_lost = !HasEnded(found->view.state);
    if (was_lost && IsLive(live.owner, found->view.id)) {
      co_return Error(ErrorCode::kFailedPrecondition, "the previous turn still runs");
    }
    previous = *std::move(found);
  }
  if (previous && (previous->view.state == TurnState::kWaiting || was_lost)) {
    co_return co_await GoOn(live, *previous);
  }
  if (live.given.has_answers()) co_return NoSuchQuestion();
  auto input = Coerce(live.given.text.value_or(""), workflow->start().input, Prefer::kText);
  if (!live.given.text || !input) {
    co_return Invalid("the workflow \"" + workflow->name() + "\" takes a message of type " +
                      workflow->start().input.Name());
  }
  live.instance = InstanceId("wf_" + live.view.id.str());
  if (auto claimed = co_await Claim(live); !claimed) co_return std::move(claimed).error();
  auto result = co_await options_.workflows.Start(live.owner, {.workflow = live.spec.agent,
                                                               .input = *std::move(input),
                                                               .instance = live.instance,
                                                               .caller = live.spec.caller,
                                                               .on_event = live.hearing()});
  if (!result && !live.has_begun()) {
    co_await Forget(live);
    co_return std::move(result).error();
  }
  co_return co_await Finish(live, std::move(result));
}

bool WorkflowTurns::IsLive(const IsolationKey& owner, const ResponseId& id) const {
  return live_.Lock()->contains({owner, id});
}

asio::awaitable<Result<TurnView>> WorkflowTurns::GoOn(Live& live, const Stored& previous) {
  if (auto fits = co_await Continue(live, previous); !fits) co_return std::move(fits).error();
  if (auto claimed = co_await Claim(live); !claimed) co_return std::move(claimed).error();
  Result<WorkflowView> result = NoSuchQuestion();
  if (auto decided = co_await Decide(live); !decided) {
    result = std::move(decided).error();
  } else {
    result = co_await options_.workflows.Resume(live.owner, {.instance = live.instance,
                                                             .answers = live.answers,
                                                             .answered_by = live.spec.answered_by,
                                                             .caller = live.spec.caller,
                                                             .on_event = live.hearing()});
  }
  if (!result && !live.has_begun()) {
    co_await Forget(live);
    co_return std::move(result).error();
  }
  co_return co_await Finish(live, std::move(result));
}

// Checks the answers against what the instance waits for, before anything happens.
asio::awaitable<Result<void>> WorkflowTurns::Continue(Live& live, const Stored& previous) {
  if (previous.view.agent != live.spec.agent) {
    co_return Invalid("the previous turn is of \"" + previous.view.agent + "\"");
  }
  live.instance = previous.instance;
  const auto now = co_await options_.workflows.Look(live.owner, live.instance);
  if (!now) co_return now.error();
  const bool asks_nothing = now->requests.empty() && now->approvals.empty();
  if (asks_nothing && !live.given.has_answers()) co_return Result<void>();
  if (!live.given.has_answers()) {
    co_return Invalid(
        "the workflow waits for answers: send the output of its function calls, or decide its "
        "approvals. Text alone does not answer them");
  }
  if (live.given.text) co_return Invalid("send the answers alone, without a message");
  for (const auto& [call_id, text] : live.given.results) {
    const auto request = std::ranges::find(now->requests, RequestId(call_id), &OpenRequest::id);
    if (request == now->requests.end()) co_return NoSuchQuestion();
    const auto type = MessageType::FromSchema(request->response);
    if (!type) co_return type.error();
    auto answer = Coerce(text, *type, Prefer::kJson);
    if (!answer) {
      co_return Invalid("the answer to " + call_id + " must be of type " + type->Name());
    }
    live.answers.push_back({.request = request->id, .answer = *std::move(answer)});
  }
  for (const ApprovalAnswer& each : live.given.approvals) {
    if (std::ranges::find(now->approvals, each.approval, &OpenApproval::id) ==
        now->approvals.end()) {
      co_return NoSuchQuestion();
    }
  }
  co_return Result<void>();
}

asio::awaitable<Result<void>> WorkflowTurns::Decide(const Live& live) {
  for (const ApprovalAnswer& each : live.given.approvals) {
    const auto verdict = each.approve ? ApprovalState::kApproved : ApprovalState::kDenied;
    auto decided = co_await options_.runs.Decide(
        live.owner, each.approval,
        {.verdict = verdict, .by = live.spec.answered_by, .reason = each.reason});
    if (!decided) co_return std::move(decided).error();
  }
  co_return Result<void>();
}

// The id belongs to this turn from now on.
asio::awaitable<Result<void>> WorkflowTurns::Claim(Live& live) {
  if (live.spec.keep == TurnSpec::Keep::kNo) co_return Result<void>();
  auto created =
      co_await options_.responses.Create(live.owner, {.id = live.view.id,
                                                      .previous = live.view.previous,
                                                      .body = Encode(live.instance, live.view),
                                                      .created_at = live.view.created_at});
  live.is_stored = created.has_value();
  co_return created;
}

// The turn has not begun, so its id is free again.
asio::awaitable<void> WorkflowTurns::Forget(const Live& live) {
  if (live.is_stored) {
    static_cast<void>(co_await options_.responses.Remove(live.owner, live.view.id));
  }
}

asio::awaitable<void> WorkflowTurns::AddQuestions(Live& live, const WorkflowView& view) {
  for (const OpenRequest& each : view.requests) {
    const auto arguments = ToJson(Value(Object({{"executor", each.executor.str()},
                                                {"prompt", each.prompt},
                                                {"message", each.message},
                                                {"response", each.response}})));
    live.output().AddWhole({.id = NewTurnItemId("fc_"),
                            .content = ClientCall{.call_id = each.id.str(),
                                                  .tool = kRequestInfo,
                                                  .arguments = arguments ? *arguments : "{}"}});
  }
  for (const OpenApproval& each : view.approvals) {
    const auto asked = co_await options_.runs.FindApproval(live.owner, each.id);
    if (!asked) continue;  // Decided and gone in the meantime.
    const auto value = ParseCanonicalJson(asked->asked.arguments);
    const auto shown = value ? ShownJson(*value) : Result<std::string>(value.error());
    const std::string arguments = shown ? *shown : "{}";
    const std::string item = NewTurnItemId("mcp_");
    live.output().AddWhole({.id = item,
                            .content = HostToolCall{.call_id = each.run.str(),
                                                    .tool = asked->asked.binding.tool,
                                                    .arguments = arguments,
                                                    .run = each.run,
                                                    .progress = CallProgress::kWaiting,
                                                    .approval = each.id}});
    live.output().AddWhole({.id = NewTurnItemId("mcpr_"),
                            .content = ApprovalRequest{.approval = each.id,
                                                       .call_item = item,
                                                       .tool = asked->asked.binding.tool,
                                                       .arguments = arguments,
                                                       .expires_at = asked->asked.expires_at}});
  }
}

asio::awaitable<TurnView> WorkflowTurns::Finish(Live& live, Result<WorkflowView> result) {
  live.Begin();
  TurnView& view = live.view;
  view.state = TurnState::kFailed;
  if (!result) {
    if (result.error().code() == ErrorCode::kCancelled) view.state = TurnState::kCancelled;
    view.error = result.error().message();
  } else if (result->status == InstanceStatus::kCompleted) {
    view.state = TurnState::kCompleted;
  } else if (result->status == InstanceStatus::kFailed) {
    view.error = result->error;
  } else if (live.spec.keep == TurnSpec::Keep::kNo) {
    view.error = "the workflow waits for a person, and this turn is not stored";
  } else {
    co_await AddQuestions(live, *result);
    view.state = TurnState::kWaiting;
  }
  view.ended_at = Now();
  if (live.is_stored) {
    auto stored = co_await options_.responses.Replace(live.owner, view.id, 1,
                                                      Encode(live.instance, view), view.ended_at);
    if (!stored) {
      view.state = TurnState::kFailed;
      view.ending = TurnEnding::kStore;
      view.error = "the turn could not be stored";
    }
  }
  live.output().End(view.state);
  co_return view;
}

}  // namespace caisson
