// A TurnService for tests: the first word of the last message says how its turn goes.
//
//   "think"     reasoning, then text               "refuse"   a refusal
//   "code"      code that prints 42 and leaves an image, then text; also "compute"
//   "call"      a tool that answers, then text     "broken"   a tool that fails, then text
//   "ask"       a tool that waits for an approval  "askcode"  code that waits for an approval
//   "send"      "ask" for the agent "direct", "askcode" for the other one
//   "client"    calls the first tool of the client, and so does "call" with JSON at its end
//   "hang"      writes a word, and continues until it is cancelled; also "slow"
//   "long"      stops at max_output_tokens         "filter"   stopped by a content filter
//   "fail"      the model fails in mid-turn
//   "busy", "full", "down", "bug"    fails with kResourceExhausted, kNoSpace, kUnavailable,
//                                    kInternal (with a secret in its message)
//   anything else                    writes "You said: " and the message, in two pieces
//
// A ClientResult is answered with "The tool said: " and its text. An ApprovalAnswer decides the
// approval: "Sent." or "Not sent.".
//
// Trust     For tests.
// Threads   Any; one lock.
// Lifetime  Outlives the requests. Background turns run on the executor of their request.
#pragma once

#include <algorithm>
#include <atomic>
#include <boost/asio/this_coro.hpp>
#include <condition_variable>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/testing/fake_conversations.h"
#include "agent/turn_service.h"
#include "base/guarded.h"
#include "base/notifier.h"
#include "base/spawn.h"
#include "base/wakeup.h"

namespace caisson {

class FakeTurns final : public TurnService {
 public:
  explicit FakeTurns(const Clock& clock) : clock_(clock) {}

  FakeConversations conversations;
  int effects() const { return effects_; }  // How often the tool of "ask" was used.
  TurnSpec last_spec() { return *state_.Lock()->last; }
  // Blocks.
  void WaitUntilNothingRuns() {
    auto state = state_.Lock();
    ended_.wait(state.lock(), [&] {
      return std::ranges::none_of(state->entries,
                                  [](const auto& entry) { return Runs(entry.second.view); });
    });
  }

  std::vector<AgentInfo> Agents() const override {
    return {{.name = "analyst", .description = "For tests"}, {.name = "direct"}};
  }

  asio::awaitable<Result<TurnView>> Start(IsolationKey owner, TurnSpec spec,
                                          OnTurnEvent on_event) override {
    auto turn = co_await Open(owner, std::move(spec));
    if (!turn) co_return std::move(turn).error();
    co_return co_await Perform(owner, *std::move(turn), std::move(on_event));
  }

  asio::awaitable<Result<TurnView>> StartDetached(IsolationKey owner, TurnSpec spec) override {
    auto turn = co_await Open(owner, std::move(spec));
    if (!turn) co_return std::move(turn).error();
    const Stop stop((co_await asio::this_coro::executor));
    state_.Lock()->entries.at({owner, (*turn)->view.id}).stop = stop;
    const TurnView view = (*turn)->view;
    const auto perform = [this, owner, turn = *turn]() -> asio::awaitable<void> {
      static_cast<void>(co_await Perform(owner, turn, {}));
    };
    // A Stop must not outlive the context of its executor, and this object may.
    Spawn(stop, perform, [this, key = std::pair(owner, view.id)] {
      auto state = state_.Lock();
      const auto found = state->entries.find(key);
      if (found != state->entries.end()) found->second.stop.reset();
    });
    co_return view;
  }

  asio::awaitable<Result<TurnView>> Find(IsolationKey owner, ResponseId id) override {
    co_return Look(owner, id);
  }

  asio::awaitable<Result<void>> Events(IsolationKey owner, ResponseId id, std::uint64_t from,
                                       OnTurnEvent on_event) override {
    for (std::uint64_t next = from;;) {
      const auto wakeup = std::make_shared<Wakeup>();
      const auto subscription = changed_.Listen([wakeup] { wakeup->Wake(); });
      std::vector<TurnEvent> events;
      {
        auto state = state_.Lock();
        const auto found = state->entries.find({owner, id});
        if (found == state->entries.end()) co_return NotThere();
        if (found->second.view.style != TurnSpec::Style::kBackground) {
          co_return Error(ErrorCode::kFailedPrecondition, "the turn keeps no events");
        }
        events = found->second.events;
      }
      for (; next < events.size(); ++next) on_event(events[next]);
      if (!events.empty() && std::holds_alternative<TurnEnded>(events.back().event)) break;
      if (co_await wakeup->Sleep() == Wakeup::Reason::kCancelled) {
        co_return Error(ErrorCode::kCancelled, "cancelled");
      }
    }
    co_return Result<void>();
  }

  asio::awaitable<Result<TurnView>> Cancel(IsolationKey owner, ResponseId id) override {
    std::optional<Stop> stop;
    {
      auto state = state_.Lock();
      const auto found = state->entries.find({owner, id});
      if (found == state->entries.end()) co_return NotThere();
      stop = found->second.stop;
    }
    if (stop) stop->Request();
    for (;;) {
      const auto wakeup = std::make_shared<Wakeup>();
      const auto subscription = changed_.Listen([wakeup] { wakeup->Wake(); });
      auto view = Look(owner, id);
      if (!view || !Runs(*view)) co_return view;
      co_await wakeup->Sleep();
    }
  }

  asio::awaitable<Result<void>> Remove(IsolationKey owner, ResponseId id) override {
    auto view = Look(owner, id);
    if (!view) co_return std::move(view).error();
    if (Runs(*view)) co_return Error(ErrorCode::kFailedPrecondition, "the turn runs");
    state_.Lock()->entries.erase({owner, id});
    co_return Result<void>();
  }

  asio::awaitable<void> Close() override { co_return; }

 private:
  struct Turn {
    TurnSpec spec;
    TurnView view;
    OnTurnEvent on_event{};
    TurnState end = TurnState::kCompleted;
  };
  struct Entry {
    TurnView view;
    std::vector<TurnEvent> events{};
    std::optional<Stop> stop{};
  };
  struct Asked {
    std::optional<bool> decision{};
    std::string arguments;
  };
  struct State {
    std::map<std::pair<IsolationKey, ResponseId>, Entry> entries;
    std::map<std::pair<IsolationKey, ApprovalId>, Asked> approvals;
    std::optional<TurnSpec> last;
    int items = 0;
  };

  static Error NotThere() { return Error(ErrorCode::kNotFound, "not there"); }
  static bool Runs(const TurnView& view) {
    return view.state == TurnState::kRunning || view.state == TurnState::kQueued;
  }

  Result<TurnView> Look(const IsolationKey& owner, const ResponseId& id) {
    auto state = state_.Lock();
    const auto found = state->entries.find({owner, id});
    if (found == state->entries.end()) return NotThere();
    return found->second.view;
  }

  static std::string TextOf(const std::vector<model::Part>& parts) {
    std::string text;
    for (const model::Part& part : parts) {
      if (const auto* piece = std::get_if<model::TextPart>(&part)) text += piece->text;
    }
    return text;
  }
  static std::string LastText(const TurnSpec& spec) {
    std::string text;
    for (const TurnItem& item : spec.input) {
      const auto* message = std::get_if<model::MessageItem>(&item.content);
      if (message != nullptr && message->role == model::Role::kUser) text = TextOf(message->parts);
    }
    return text;
  }

  // Checks the request and stores the turn.
  asio::awaitable<Result<std::shared_ptr<Turn>>> Open(IsolationKey owner, TurnSpec spec) {
    state_.Lock()->last = spec;
    const auto agents = Agents();
    if (std::ranges::find(agents, spec.agent, &AgentInfo::name) == agents.end())
      co_return NotThere();
    if (spec.previous) {
      auto previous = Look(owner, *spec.previous);
      if (!previous) co_return std::move(previous).error();
      if (Runs(*previous)) {
        co_return Error(ErrorCode::kFailedPrecondition, "the previous turn still runs");
      }
    }
    if (spec.conversation) {
      auto conversation = co_await conversations.Find(owner, *spec.conversation);
      if (!conversation) co_return std::move(conversation).error();
    }
    const std::string text = LastText(spec);
    if (text == "busy") co_return Error(ErrorCode::kResourceExhausted, "too much");
    if (text == "full") co_return Error(ErrorCode::kNoSpace, "no room");
    if (text == "down") co_return Error(ErrorCode::kUnavailable, "not now");
    if (text == "bug") co_return Error(ErrorCode::kInternal, "the secret reason");
    auto state = state_.Lock();
    for (const TurnItem& item : spec.input) {
      const auto* answer = std::get_if<ApprovalAnswer>(&item.content);
      if (answer == nullptr) continue;
      const auto asked = state->approvals.find({owner, answer->approval});
      if (asked == state->approvals.end()) {
        co_return Error(ErrorCode::kInvalidArgument, "no such approval");
      }
      if (asked->second.decision && *asked->second.decision != answer->approve) {
        co_return Error(ErrorCode::kFailedPrecondition, "the approval was decided differently");
      }
    }
    const ResponseId id = spec.id ? *spec.id : ResponseId("resp_" + std::to_string(state->items++));
    const auto turn =
        std::make_shared<Turn>(Turn{.spec = spec, .view = {.id = id, .agent = spec.agent}});
    TurnView& view = turn->view;
    view.input = turn->spec.input;
    view.previous = turn->spec.previous;
    view.conversation = turn->spec.conversation;
    view.style = turn->spec.style;
    view.door_data = turn->spec.door_data;
    view.model = "fake";
    view.created_at = clock_.Now();
    if (!state->entries.emplace(std::pair(owner, id), Entry{.view = view}).second) {
      co_return Error(ErrorCode::kFailedPrecondition, "the id exists");
    }
    co_return turn;
  }

  std::string NewId(std::string_view prefix) {
    return std::string(prefix) + std::to_string(state_.Lock()->items++);
  }

  void Emit(const IsolationKey& owner, Turn& turn, decltype(TurnEvent::event) event) {
    TurnEvent numbered{.event = std::move(event)};
    {
      auto state = state_.Lock();
      Entry& entry = state->entries.at({owner, turn.view.id});
      numbered.number = entry.events.size();
      entry.events.push_back(numbered);
      entry.view = turn.view;
    }
    changed_.Notify();
    ended_.notify_all();
    if (turn.on_event) turn.on_event(numbered);
  }
  void Done(const IsolationKey& owner, Turn& turn, TurnItem item) {
    turn.view.output.push_back(item);
    Emit(owner, turn, ItemDone{std::move(item)});
  }
  void Say(const IsolationKey& owner, Turn& turn, const std::string& text) {
    const std::string id = NewId("msg_");
    model::MessageItem message{.role = model::Role::kAssistant};
    Emit(owner, turn, ItemAdded{{.id = id, .content = message}});
    for (const std::string& piece :
         {text.substr(0, 4), text.substr(std::min<size_t>(4, text.size()))}) {
      Emit(owner, turn, ItemDelta{.item = id, .kind = ItemDelta::Kind::kText, .text = piece});
    }
    message.parts = {model::TextPart{text}};
    Done(owner, turn, {.id = id, .content = message});
  }
  // A call of a tool, from its beginning to its end.
  void Call(const IsolationKey& owner, Turn& turn, HostToolCall call) {
    const std::string id = NewId("mcp_");
    Emit(owner, turn,
         ItemAdded{
             {.id = id,
              .content = HostToolCall{
                  .call_id = call.call_id, .tool = call.tool, .arguments = {}, .run = call.run}}});
    Emit(owner, turn,
         ItemDelta{.item = id, .kind = ItemDelta::Kind::kArguments, .text = call.arguments});
    Done(owner, turn, {.id = id, .content = std::move(call)});
  }
  // Returns the id of the item.
  std::string Code(const IsolationKey& owner, Turn& turn, CodeCall call) {
    const std::string id = NewId("ci_");
    Emit(owner, turn,
         ItemAdded{{.id = id,
                    .content = CodeCall{.call_id = call.call_id, .code = {}, .run = call.run}}});
    Emit(owner, turn, ItemDelta{.item = id, .kind = ItemDelta::Kind::kCode, .text = call.code});
    Done(owner, turn, {.id = id, .content = std::move(call)});
    return id;
  }
  void Ask(const IsolationKey& owner, Turn& turn, const std::string& call_item) {
    const ApprovalId approval(NewId("apr_"));
    const std::string arguments = R"({"to":"ann"})";
    state_.Lock()->approvals.emplace(std::pair(owner, approval), Asked{.arguments = arguments});
    const TurnItem item{
        .id = NewId("ask_"),
        .content = ApprovalRequest{
            .approval = approval, .call_item = call_item, .tool = "send", .arguments = arguments}};
    Emit(owner, turn, ItemAdded{item});
    Done(owner, turn, item);
  }

  asio::awaitable<Result<TurnView>> Perform(IsolationKey owner, std::shared_ptr<Turn> turn,
                                            OnTurnEvent on_event) {
    turn->on_event = std::move(on_event);
    Emit(owner, *turn, TurnBegan{});
    TurnView& view = turn->view;
    if (!Resume(owner, *turn)) co_await Answer(owner, *turn);
    view.state = turn->end;
    view.usage = {.input = 11, .cached_input = 1, .output = 7, .reasoning = 2};
    view.ended_at = clock_.Now();
    if (view.conversation) {
      std::vector<TurnItem> items = view.input;
      items.insert(items.end(), view.output.begin(), view.output.end());
      static_cast<void>(co_await conversations.Append(owner, *view.conversation, items));
    }
    Emit(owner, *turn, TurnEnded{view.state});
    const TurnView result = view;
    if (turn->spec.keep == TurnSpec::Keep::kNo) state_.Lock()->entries.erase({owner, view.id});
    co_return result;
  }

  // Answers results and decisions. Returns false if there are none.
  bool Resume(const IsolationKey& owner, Turn& turn) {
    bool resumed = false;
    for (const TurnItem& item : std::vector(turn.spec.input)) {
      if (const auto* result = std::get_if<ClientResult>(&item.content)) {
        Say(owner, turn, "The tool said: " + TextOf(result->parts));
        resumed = true;
      }
      const auto* answer = std::get_if<ApprovalAnswer>(&item.content);
      if (answer == nullptr) continue;
      resumed = true;
      {
        auto state = state_.Lock();
        Asked& asked = state->approvals.at({owner, answer->approval});
        if (std::exchange(asked.decision, answer->approve)) continue;  // Decided before.
      }
      if (answer->approve) ++effects_;
      const auto edited = answer->changes ? ToJson(Value(*answer->changes)) : std::string();
      Call(owner, turn,
           {.call_id = "call_ask",
            .tool = "send",
            .arguments = R"({"to":"ann"})",
            .run = RunId("run_ask"),
            .progress = answer->approve ? CallProgress::kCompleted : CallProgress::kFailed,
            .output = answer->approve ? "sent" + (edited ? *edited : std::string())
                                      : "denied: " + answer->reason,
            .is_error = !answer->approve,
            .approval = answer->approval});
      Say(owner, turn, answer->approve ? "Sent." : "Not sent.");
    }
    return resumed;
  }

  // The words of the demo model (model/demo_model.h) have the same effect as ours.
  static std::string WordOf(const TurnSpec& spec, const std::string& text) {
    const std::string word = text.substr(0, text.find(' '));
    if (word == "compute") return "code";
    if (word == "slow") return "hang";
    if (word == "send") return spec.agent == "direct" ? "ask" : "askcode";
    if (word == "call" && !spec.client_tools.empty()) return "client";
    return word;
  }

  asio::awaitable<void> Answer(const IsolationKey& owner, Turn& turn) {
    const std::string text = LastText(turn.spec);
    const std::string word = WordOf(turn.spec, text);
    TurnView& view = turn.view;
    if (word == "think") {
      const std::string id = NewId("rs_");
      Emit(owner, turn, ItemAdded{{.id = id, .content = model::ReasoningItem{}}});
      Emit(owner, turn, ItemDelta{.item = id, .kind = ItemDelta::Kind::kReasoning, .text = "Hm."});
      Done(owner, turn,
           {.id = id, .content = model::ReasoningItem{.text = "Hm.", .encrypted = "x"}});
      Say(owner, turn, "Thought.");
    } else if (word == "refuse") {
      const std::string id = NewId("msg_");
      model::MessageItem message{.role = model::Role::kAssistant};
      Emit(owner, turn, ItemAdded{{.id = id, .content = message}});
      Emit(owner, turn, ItemDelta{.item = id, .kind = ItemDelta::Kind::kRefusal, .text = "No."});
      message.parts = {model::RefusalPart{"No."}};
      Done(owner, turn, {.id = id, .content = message});
    } else if (word == "code") {
      Code(owner, turn,
           {.call_id = "call_code",
            .code = "print(6*7)",
            .run = RunId("run_code"),
            .progress = CallProgress::kCompleted,
            .logs = "42\n",
            .files = {
                {.path = "/output/chart.png", .media_type = "image/png", .bytes = 4},
                {.path = "/output/big.png",
                 .media_type = "image/png",
                 .bytes = 100u << 20,
                 .number = 1},
                {.path = "/output/data.csv", .media_type = "text/csv", .bytes = 9, .number = 2}}});
      Say(owner, turn, "It is 42.");
    } else if (word == "call" || word == "broken") {
      const bool good = word == "call";
      Call(owner, turn,
           {.call_id = "call_1",
            .tool = "lookup",
            .arguments = R"({"key":"k"})",
            .run = RunId("run_1"),
            .progress = good ? CallProgress::kCompleted : CallProgress::kFailed,
            .output = good ? "found" : "it is broken",
            .is_error = !good});
      Say(owner, turn, "Looked it up.");
    } else if (word == "ask") {
      Call(owner, turn,
           {.call_id = "call_ask",
            .tool = "send",
            .arguments = R"({"to":"ann"})",
            .run = RunId("run_ask"),
            .progress = CallProgress::kWaiting});
      Ask(owner, turn, view.output.back().id);
      turn.end = TurnState::kWaiting;
    } else if (word == "askcode") {
      const std::string id = Code(owner, turn,
                                  {.call_id = "call_code",
                                   .code = "send(to='ann')",
                                   .run = RunId("run_code"),
                                   .progress = CallProgress::kWaiting});
      Ask(owner, turn, id);
      turn.end = TurnState::kWaiting;
    } else if (word == "client" && !turn.spec.client_tools.empty()) {
      const std::string id = NewId("fc_");
      ClientCall call{
          .call_id = NewId("call_"), .tool = turn.spec.client_tools[0].name, .arguments = {}};
      Emit(owner, turn, ItemAdded{{.id = id, .content = call}});
      const std::size_t json = std::min(text.find('{'), text.size());
      const std::string arguments = json < text.size() ? text.substr(json) : R"({"a":1})";
      for (const std::string& piece : {arguments.substr(0, 5), arguments.substr(5)}) {
        Emit(owner, turn,
             ItemDelta{.item = id, .kind = ItemDelta::Kind::kArguments, .text = piece});
        call.arguments += piece;
      }
      Done(owner, turn, {.id = id, .content = call});
      turn.end = TurnState::kWaiting;
    } else if (word == "hang") {
      const std::string id = NewId("msg_");
      model::MessageItem message{.role = model::Role::kAssistant};
      Emit(owner, turn, ItemAdded{{.id = id, .content = message}});
      Emit(owner, turn, ItemDelta{.item = id, .kind = ItemDelta::Kind::kText, .text = "Wait"});
      co_await std::make_shared<Wakeup>()->Sleep();
      message.parts = {model::TextPart{"Wait"}};
      Done(owner, turn, {.id = id, .content = message});
      turn.end = TurnState::kCancelled;
    } else if (word == "fail") {
      Say(owner, turn, "Half");
      turn.end = TurnState::kFailed;
      view.ending = TurnEnding::kModel;
      view.error = "the model failed";
    } else if (word == "long" || word == "filter") {
      Say(owner, turn, "And so on");
      turn.end = TurnState::kIncomplete;
      view.ending = word == "long" ? TurnEnding::kOutputTokens : TurnEnding::kContentFilter;
    } else {
      Say(owner, turn, "You said: " + text);
    }
  }

  const Clock& clock_;
  std::atomic<int> effects_ = 0;
  Notifier<> changed_;
  std::condition_variable ended_;
  Guarded<State> state_;
};

}  // namespace caisson
