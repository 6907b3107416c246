#include "protocol/mcp/approval_dialogue.h"

#include <optional>
#include <utility>

#include "approval/presentation.h"
#include "base/low_priority_pool.h"
#include "wire/json.h"
#include "wire/object.h"

namespace caisson::mcp {
namespace {

// A person cannot read a longer question, and clients may not show it.
constexpr std::size_t kMaxQuestionBytes = 256u << 10;

constexpr std::string_view kSchema = R"({"type":"object","properties":{"approved":{"type":"boolean",
"title":"Approve this call","description":"true approves exactly this call, once."}},"required":["approved"]})";

// Returns the verdict of an answer. nullopt: it decides nothing, and the run continues to wait.
std::optional<ApprovalState> VerdictOf(const Value* response) {
  const Dict* fields = response == nullptr ? nullptr : response->If<Dict>();
  const auto* action = fields == nullptr ? nullptr : FindAs<std::string>(*fields, "action");
  if (action == nullptr) return std::nullopt;
  if (*action == "decline") return ApprovalState::kDenied;
  if (*action != "accept") return std::nullopt;
  const auto* content = FindAs<Dict>(*fields, "content");
  const auto* approved = content == nullptr ? nullptr : FindAs<bool>(*content, "approved");
  if (approved == nullptr) return std::nullopt;
  return *approved ? ApprovalState::kApproved : ApprovalState::kDenied;
}

}  // namespace

asio::awaitable<Result<Dict>> ApprovalDialogue::Elicitation(const IsolationKey& owner,
                                                            const std::string& approval,
                                                            const Caller& caller) const {
  const auto stored = co_await runs_.FindApproval(owner, ApprovalId(approval));
  if (!stored) co_return stored.error();
  const auto shown =
      co_await CallAside(cpu_pool_, stored->asked.arguments.size(), [&]() -> Result<std::string> {
        TRY_ASSIGN(const auto presented, Present(stored->asked));
        return ToText(presented);
      });
  if (!shown) co_return shown.error();
  if (shown->size() > kMaxQuestionBytes) {
    co_return Error(ErrorCode::kResourceExhausted, "the arguments are too long for a question");
  }
  Dict params;
  // Earlier versions had only forms, without a name for them.
  if (caller.era == Era::kModern || caller.version == kNewestLegacyVersion) {
    Append(params, "mode", "form");
  }
  Append(params, "message",
         "The running code wants to call " + stored->asked.binding.tool + " with\n" + *shown +
             "Let it?");
  Append(params, "requestedSchema", *ParseJson(kSchema));
  co_return params;
}

asio::awaitable<Result<bool>> ApprovalDialogue::Decide(const IsolationKey& owner,
                                                       const ApprovalId& id,
                                                       const Value* response) const {
  const auto verdict = VerdictOf(response);
  if (!verdict) co_return false;
  const auto decided = co_await runs_.Decide(owner, id, {.verdict = *verdict, .by = "mcp"});
  // Another decision was faster, or the approval expired; that result counts.
  if (!decided && decided.error().code() != ErrorCode::kFailedPrecondition) {
    co_return decided.error();
  }
  co_return true;
}

asio::awaitable<ApprovalDialogue::Answered> ApprovalDialogue::AskNow(const RunView& run,
                                                                     Exchange& exchange) const {
  const IsolationKey& owner = exchange.caller().owner();
  Answered answered = Answered::kAll;
  for (const OutcomeApproval& approval : run.outcome.approvals) {
    auto params = co_await Elicitation(owner, approval.id, exchange.caller());
    if (!params) co_return Answered::kNotAll;
    const auto response = co_await exchange.Ask("elicitation/create", *std::move(params));
    if (!response) co_return Answered::kNotAll;
    const auto decided = co_await Decide(owner, ApprovalId(approval.id), &*response);
    if (!decided || !*decided) answered = Answered::kNotAll;
  }
  co_return answered;
}

asio::awaitable<Result<Dict>> ApprovalDialogue::Question(const RunView& run,
                                                         const StatePurpose& purpose,
                                                         Exchange& exchange) const {
  Dict requests;
  RequestState state{.run = run.id};
  for (const OutcomeApproval& approval : run.outcome.approvals) {
    auto params = co_await Elicitation(exchange.caller().owner(), approval.id, exchange.caller());
    if (!params) co_return std::move(params).error();
    Append(requests, approval.id,
           Object({{"method", "elicitation/create"}, {"params", *std::move(params)}}));
    state.approvals.emplace_back(approval.id);
  }
  auto sealed = states_.Seal(exchange.caller().owner(), purpose, state);
  if (!sealed) co_return std::move(sealed).error();
  co_return InputRequired(std::move(requests), *std::move(sealed));
}

asio::awaitable<Result<ApprovalDialogue::Answers>> ApprovalDialogue::TakeAnswers(
    const std::string& request_state, const StatePurpose& purpose, const Dict& responses,
    const Exchange& exchange) const {
  const IsolationKey& owner = exchange.caller().owner();
  const auto state = states_.Open(owner, purpose, request_state);
  if (!state) co_return state.error();
  for (const ApprovalId& id : state->approvals) {
    const auto stored = co_await runs_.FindApproval(owner, id);
    if (!stored || stored->state != ApprovalState::kPending) {
      co_return Error(ErrorCode::kInvalidArgument,
                      "this requestState was already used or has expired");
    }
  }
  Answers answers{.run = state->run, .answered = Answered::kAll};
  for (const ApprovalId& id : state->approvals) {
    const auto decided = co_await Decide(owner, id, responses.Find(id.str()));
    if (!decided) co_return decided.error();
    if (!*decided) answers.answered = Answered::kNotAll;
    answers.approvals.insert(id.str());
  }
  co_return answers;
}

void AddOtherWays(const RunView& run, Dict& result) {
  std::string text =
      "The run waits for a person's approval, and this client cannot be asked for one. Decide "
      "with one of these (add this server's --config to the first, if it has one):";
  for (const OutcomeApproval& approval : run.outcome.approvals) {
    text.append("\n  caisson approvals approve " + approval.id + "    (" + approval.tool +
                "; or deny)    or POST /v1/approvals/" + approval.id);
  }
  text.append("\nThen call wait_for_run with run_id \"" + run.id.str() +
              "\" to collect the outcome.");
  for (auto& [key, value] : result.items) {
    if (key != Value("content")) continue;
    std::get<List>(value.variant())
        .items.emplace_back(Object({{"type", "text"}, {"text", std::move(text)}}));
    return;
  }
}

}  // namespace caisson::mcp
