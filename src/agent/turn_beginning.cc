#include "agent/turn_beginning.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "agent/conversations.h"
#include "agent/execute_code.h"
#include "agent/turn_history.h"
#include "agent/turn_items.h"
#include "approval/edit.h"

namespace caisson {
namespace {

constexpr std::size_t kMaxIdBytes = 128;
constexpr std::size_t kMaxClientTools = 128;
constexpr std::size_t kMaxToolName = 128;
constexpr std::uint32_t kItemsAtOnce = 1000;

Error Invalid(std::string why) {
  return Error(ErrorCode::kInvalidArgument, std::move(why));
}

Error TooLong(std::string_view what, std::uint64_t most) {
  return Error(ErrorCode::kResourceExhausted,
               "the history is too long: more than " + std::to_string(most) + " " +
                   std::string(what) + ". Begin a new conversation, or send a shorter history");
}

// The same answer for an approval of somebody else and for none (I4).
Error NoSuchApproval(const ApprovalId& id) {
  return Invalid("no approval with the id \"" + id.str() + "\" is open in this history");
}

// A client's word about a call: it names no run, so nothing waits for it.
void Disarm(TurnItem& item) {
  if (auto* code = std::get_if<CodeCall>(&item.content)) {
    code->run = RunId("");
    code->files.clear();
    if (code->progress != CallProgress::kFailed) code->progress = CallProgress::kCompleted;
  } else if (auto* tool = std::get_if<HostToolCall>(&item.content)) {
    tool->run = RunId("");
    if (tool->progress != CallProgress::kFailed) tool->progress = CallProgress::kCompleted;
  }
}

Result<void> CheckInput(std::vector<TurnItem>& input) {
  for (TurnItem& item : input) {
    if (item.id.size() > kMaxIdBytes) return Invalid("the id of an item is too long");
    if (item.id.empty()) item.id = NewTurnItemId(PrefixOf(item));
    Disarm(item);
  }
  return {};
}

Result<void> CheckClientTools(const Agent& agent, const TurnSpec& spec) {
  if (spec.client_tools.size() > kMaxClientTools) {
    return Invalid("at most " + std::to_string(kMaxClientTools) + " tools are possible");
  }
  std::set<std::string> names;
  const auto setting = agent.setting.For(spec.caller.get());
  for (const model::ToolDeclaration& tool : spec.client_tools) {
    if (tool.name.empty() || tool.name.size() > kMaxToolName) {
      return Invalid("the name of a tool must have 1 to " + std::to_string(kMaxToolName) +
                     " characters");
    }
    const bool taken = agent.code == Agent::Code::kOn ? tool.name == kExecuteCode
                                                      : setting->tools->Find(tool.name) != nullptr;
    if (taken) return Invalid("the agent has a tool with the name \"" + tool.name + "\" itself");
    if (!names.insert(tool.name).second) {
      return Invalid("two tools have the name \"" + tool.name + "\"");
    }
    std::string schema;
    TRY(EncodeValue(tool.input_schema, schema));
  }
  return {};
}

Result<void> CheckSpec(const Agent& agent, TurnSpec& spec) {
  const bool unkept = spec.keep == TurnSpec::Keep::kNo;
  if (unkept && spec.style == TurnSpec::Style::kBackground) {
    return Invalid("a background turn must be stored");
  }
  if (unkept && spec.conversation) return Invalid("a turn of a conversation must be stored");
  if (spec.previous && spec.conversation) {
    return Invalid("give a previous turn or a conversation, not both");
  }
  if (spec.id && (spec.id->str().empty() || spec.id->str().size() > kMaxIdBytes)) {
    return Invalid("the id of a turn must have 1 to " + std::to_string(kMaxIdBytes) +
                   " characters");
  }
  TRY(CheckClientTools(agent, spec));
  return CheckInput(spec.input);
}

class Sum {
 public:
  explicit Sum(const HistoryLimits& limits) : limits_(limits) {}
  Result<void> Add(const TurnItem& item) {
    bytes_ += TextBytes(item);
    if (++items_ > limits_.items) return TooLong("items", limits_.items);
    if (bytes_ > limits_.bytes) return TooLong("bytes", limits_.bytes);
    return {};
  }

 private:
  const HistoryLimits limits_;
  std::uint64_t items_ = 0;
  std::uint64_t bytes_ = 0;
};

asio::awaitable<Result<void>> LoadChain(const TurnSurroundings& around, TurnStart& start) {
  const HistoryLimits& limits = around.history;
  auto chain =
      co_await around.responses.Chain(start.owner, *start.record.view.previous, limits.turns + 1);
  if (!chain) {
    if (chain.error().code() != ErrorCode::kNotFound) co_return std::move(chain).error();
    co_return Error(ErrorCode::kNotFound, "there is no previous turn with this id");
  }
  if (chain->size() > limits.turns) co_return TooLong("turns", limits.turns);
  for (std::size_t i = chain->size(); i-- > 0;) {
    auto record = DecodeTurnRecord((*chain)[i].body);
    if (!record) co_return std::move(record).error();
    if (!HasEnded(record->view.state)) {
      co_return Error(ErrorCode::kFailedPrecondition,
                      "the previous turn has not ended; wait for it or cancel it");
    }
    for (auto* items : {&record->view.input, &record->view.output}) {
      std::move(items->begin(), items->end(), std::back_inserter(start.history));
    }
  }
  co_return Result<void>();
}

asio::awaitable<Result<void>> LoadConversation(const TurnSurroundings& around, TurnStart& start) {
  const ConversationId id = *start.record.view.conversation;
  std::int64_t next = 0;
  while (true) {
    auto items = co_await around.responses.Items(start.owner, id, next, kItemsAtOnce);
    if (!items) co_return std::move(items).error();
    for (const std::string& bytes : *items) {
      auto item = DecodeTurnItem(bytes);
      if (!item) co_return std::move(item).error();
      start.history.push_back(*std::move(item));
    }
    next += static_cast<std::int64_t>(items->size());
    if (start.history.size() + start.record.view.input.size() > kMaxConversationItems) {
      co_return TooLong("items", kMaxConversationItems);
    }
    if (items->size() < kItemsAtOnce) break;
  }
  start.conversation_length = next;
  co_return Result<void>();
}

Result<void> CheckSize(const HistoryLimits& limits, const TurnStart& start) {
  Sum sum(limits);
  for (const TurnItem& item : start.history) TRY(sum.Add(item));
  for (const TurnItem& item : start.record.view.input) TRY(sum.Add(item));
  return {};
}

// The answers of this turn. Those that come before something that the assistant did belong to a
// history.
Result<std::map<ApprovalId, ApprovalAnswer>> NewAnswers(const TurnStart& start) {
  const auto& input = start.record.view.input;
  const KnownApprovals known = ApprovalsIn(start.history);
  std::map<ApprovalId, ApprovalAnswer> answers;
  for (std::size_t i = BeginOfNews(input); i < input.size(); ++i) {
    const auto* answer = std::get_if<ApprovalAnswer>(&input[i].content);
    if (answer == nullptr) continue;
    if (known.answered.contains(answer->approval)) {
      return Error(ErrorCode::kFailedPrecondition,
                   "the approval \"" + answer->approval.str() + "\" was answered before");
    }
    const auto [found, is_new] = answers.emplace(answer->approval, *answer);
    if (!is_new && found->second.approve != answer->approve) {
      return Invalid("the approval \"" + answer->approval.str() + "\" has two different answers");
    }
  }
  return answers;
}

// Makes an item of a run that waits because of a turn that is not in the history.
asio::awaitable<Result<TurnItem>> Adopt(const TurnSurroundings& around, const TurnStart& start,
                                        const StoredApproval& approval) {
  auto run = co_await around.runs.Find(start.owner, approval.asked.binding.run);
  if (!run && run.error().code() != ErrorCode::kNotFound) co_return std::move(run).error();
  if (!run || run->setting != "agent:" + start.agent->name) {
    co_return NoSuchApproval(approval.asked.id);
  }
  const std::string call_id = "call_" + run->id.str();
  TurnItem item{.id = "",
                .content = CodeCall{.call_id = call_id,
                                    .code = run->code,
                                    .run = run->id,
                                    .progress = CallProgress::kWaiting}};
  if (run->call) {
    auto arguments = ToJson(Value(run->call->arguments));
    item.content = HostToolCall{.call_id = call_id,
                                .tool = run->call->tool,
                                .arguments = arguments ? *std::move(arguments) : "",
                                .run = run->id,
                                .progress = CallProgress::kWaiting};
  }
  item.id = NewTurnItemId(PrefixOf(item));
  co_return item;
}

// Refuses changes that the tool does not accept, before any answer of the turn is stored.
asio::awaitable<Result<void>> CheckChanges(const TurnSurroundings& around, IsolationKey owner,
                                           const ApprovalAnswer& answer,
                                           const StoredApproval& approval) {
  if (!answer.changes) co_return Result<void>();
  if (!answer.approve) co_return Invalid("a denial cannot change arguments");
  const auto tool = co_await around.runs.FindTool(std::move(owner), answer.approval);
  if (!tool) co_return tool.error();
  const auto edited = EditArguments(approval.asked, *answer.changes, **tool);
  if (!edited) co_return edited.error();
  co_return Result<void>();
}

asio::awaitable<Result<void>> CheckAnswer(const TurnSurroundings& around, TurnStart& start,
                                          const ApprovalAnswer& answer,
                                          const std::set<ApprovalId>& asked) {
  const auto approval = co_await around.runs.FindApproval(start.owner, answer.approval);
  if (!approval && approval.error().code() != ErrorCode::kNotFound) co_return approval.error();
  if (!approval) co_return NoSuchApproval(answer.approval);
  const bool is_own_history = !start.record.view.previous && !start.record.view.conversation;
  if (!asked.contains(answer.approval)) {
    if (!is_own_history) co_return NoSuchApproval(answer.approval);
    const RunId& run = approval->asked.binding.run;
    const bool has_it = std::ranges::any_of(start.adopted, [&](const TurnItem& item) {
      const auto* code = std::get_if<CodeCall>(&item.content);
      return (code != nullptr ? code->run : std::get<HostToolCall>(item.content).run) == run;
    });
    if (!has_it) {
      auto adopted = co_await Adopt(around, start, *approval);
      if (!adopted) co_return std::move(adopted).error();
      start.adopted.push_back(*std::move(adopted));
    }
  }
  const ApprovalState wanted = answer.approve ? ApprovalState::kApproved : ApprovalState::kDenied;
  const bool agrees = approval->state == ApprovalState::kPending ||
                      (approval->decision && approval->decision->verdict == wanted);
  if (agrees) co_return co_await CheckChanges(around, start.owner, answer, *approval);
  const bool expired = approval->state == ApprovalState::kExpired;
  co_return Error(ErrorCode::kFailedPrecondition,
                  "the approval \"" + answer.approval.str() + "\" " +
                      (expired ? "has expired" : "was decided differently") +
                      "; continue without this answer");
}

}  // namespace

Result<TurnStart> MakeTurnStart(IsolationKey owner, std::shared_ptr<const Agent> agent,
                                TurnSpec spec, SystemTime now) {
  TRY(CheckSpec(*agent, spec));
  TurnStart start{.owner = std::move(owner), .agent = std::move(agent)};
  start.keep = spec.keep;
  start.caller = std::move(spec.caller);
  if (start.caller) start.record.caller = start.caller->Record();
  TurnView& view = start.record.view;
  view.id = spec.id ? *std::move(spec.id) : ResponseId(NewTurnItemId("resp_"));
  view.agent = start.agent->name;
  view.input = std::move(spec.input);
  view.previous = std::move(spec.previous);
  view.conversation = std::move(spec.conversation);
  view.style = spec.style;
  view.door_data = std::move(spec.door_data);
  view.created_at = now;
  spec.id.reset();
  spec.input.clear();
  spec.previous.reset();
  spec.conversation.reset();
  start.record.spec = std::move(spec);
  return start;
}

asio::awaitable<Result<void>> LoadHistory(const TurnSurroundings& around, TurnStart& start) {
  if (start.record.view.previous) {
    if (auto loaded = co_await LoadChain(around, start); !loaded) co_return loaded;
  } else if (start.record.view.conversation) {
    if (auto loaded = co_await LoadConversation(around, start); !loaded) co_return loaded;
  }
  co_return CheckSize(around.history, start);
}

asio::awaitable<Result<void>> DecideAnswers(const TurnSurroundings& around, TurnStart& start) {
  const auto answers = NewAnswers(start);
  if (!answers) co_return answers.error();
  if (answers->empty()) co_return Result<void>();
  if (start.keep == TurnSpec::Keep::kNo) {
    co_return Invalid("a turn that answers approvals must be stored");
  }
  const KnownApprovals known = ApprovalsIn(start.history);
  for (const auto& [id, answer] : *answers) {
    auto checked = co_await CheckAnswer(around, start, answer, known.asked);
    if (!checked) co_return checked;
  }
  start.record.adopted = start.adopted;
  for (const auto& [id, answer] : *answers) {
    auto decided = co_await around.runs.Decide(
        start.owner, id,
        {.verdict = answer.approve ? ApprovalState::kApproved : ApprovalState::kDenied,
         .by = start.record.spec.answered_by,
         .reason = answer.reason,
         .changes = answer.changes});
    if (!decided) co_return std::move(decided).error();
    start.decided.insert(id);
    start.record.decided.push_back(id);
  }
  co_return Result<void>();
}

Result<TurnRecord> ToRecord(StoredResponse stored) {
  TRY_ASSIGN(TurnRecord record, DecodeTurnRecord(stored.body));
  record.view.id = std::move(stored.id);
  record.view.previous = std::move(stored.previous);
  record.view.created_at = stored.created_at;
  return record;
}

}  // namespace caisson
