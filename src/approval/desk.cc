#include "approval/desk.h"

#include <algorithm>
#include <utility>

#include "approval/edit.h"
#include "approval/grant_pattern.h"

namespace caisson {
namespace {

constexpr std::uint32_t kExpiredAtOnce = 100;

std::string WithPrefix(std::string_view prefix, std::string_view id) {
  const std::size_t end = id.find('_');
  return std::string(prefix).append(end == id.npos ? id : id.substr(end + 1));
}

GrantPattern PatternOf(const NewApproval& asked, const StandingYes& standing) {
  GrantPattern pattern{.tool_digest = asked.binding.tool_digest};
  if (standing.scope == StandingYes::Scope::kSession) pattern.session = asked.session;
  pattern.schema = standing.schema;
  if (!standing.schema && standing.arguments == StandingYes::Arguments::kThese) {
    pattern.arguments_digest = asked.binding.arguments_digest;
  }
  return pattern;
}

Result<void> CheckAnswer(const NewApproval& asked, const Answer& answer) {
  if (answer.changes && answer.verdict != ApprovalState::kApproved) {
    return Error(ErrorCode::kInvalidArgument, "only an approval can change arguments");
  }
  if (answer.changes && answer.standing) {
    return Error(ErrorCode::kInvalidArgument,
                 "an approval with changed arguments applies to one call; it cannot be standing");
  }
  if (answer.standing) {
    if (answer.verdict != ApprovalState::kApproved) {
      return Error(ErrorCode::kInvalidArgument,
                   "only an approval can be standing; a denial applies to one call");
    }
    if (answer.standing->scope == StandingYes::Scope::kSession && !asked.session) {
      return Error(ErrorCode::kInvalidArgument, "the run is in no session");
    }
    TRY(Encode(PatternOf(asked, *answer.standing)));
  }
  if (answer.verdict != ApprovalState::kApproved) return {};
  auto shown = ParseArguments(asked.arguments, asked.binding.arguments_digest);
  if (shown) return {};
  return Error(ErrorCode::kFailedPrecondition, shown.error().message());
}

Result<std::optional<EditedArguments>> Edit(const NewApproval& asked, const Answer& answer,
                                            const Tool* tool) {
  if (!answer.changes) return std::optional<EditedArguments>();
  if (tool != nullptr) return EditArguments(asked, *answer.changes, *tool);
  return Error(ErrorCode::kFailedPrecondition,
               "the tool " + asked.binding.tool +
                   " is not here, so changed arguments cannot be checked; approve the call as it "
                   "was asked, or deny it");
}

}  // namespace

ApprovalId ApprovalIdOf(const RunId& run, std::uint32_t seq) {
  std::string number = std::to_string(seq);
  number.insert(0, 10 - number.size(), '0');
  return ApprovalId(WithPrefix("apr_", run.str()) + "_" + number);
}

asio::awaitable<Result<Ruling>> ApprovalDesk::Judge(IsolationKey owner, CallToJudge call) {
  auto binding = BindCall(std::move(call.place), *call.tool, *call.arguments);
  if (!binding) co_return std::move(binding).error();
  Ruling ruling{.question = {.binding = *std::move(binding),
                             .arguments = call.arguments->text,
                             .session = std::move(call.session)}};
  if (!call.needs_approval) {
    ruling.kind = Ruling::Kind::kFree;
    co_return ruling;
  }
  auto grant = co_await FindGrant(owner, ruling.question);
  if (!grant) co_return std::move(grant).error();
  if (!*grant) co_return ruling;
  // Before the effect: a call that cannot be audited is not executed.
  const CallBinding& bound = ruling.question.binding;
  auto body = ToJson(Value(Dict{{{"grant", (*grant)->str()},
                                 {"run", bound.run.str()},
                                 {"seq", std::int64_t{bound.seq}},
                                 {"tool", bound.tool},
                                 {"arguments_digest", bound.arguments_digest}}}));
  if (!body) co_return std::move(body).error();
  auto audited = co_await store_.audit().Append(
      owner, {.at = clock_.Now(), .kind = "grant.used", .body = *std::move(body)});
  if (!audited) co_return std::move(audited).error();
  ruling.kind = Ruling::Kind::kGranted;
  ruling.grant = *std::move(grant);
  co_return ruling;
}

asio::awaitable<Result<std::optional<GrantId>>> ApprovalDesk::FindGrant(IsolationKey owner,
                                                                        const Question& question) {
  auto grants = co_await store_.approvals().ListGrants(owner, question.binding.tool);
  if (!grants) co_return std::move(grants).error();
  GrantedCall call{.tool_digest = question.binding.tool_digest,
                   .session = question.session,
                   .arguments_digest = question.binding.arguments_digest};
  for (const Grant& grant : *grants) {
    const auto pattern = ParseGrantPattern(grant.pattern);
    if (pattern && pattern->schema && !call.arguments) {  // Only now, because it can take a while.
      auto parsed = ParseArguments(question.arguments, question.binding.arguments_digest);
      if (!parsed) co_return std::move(parsed).error();
      call.arguments = *std::move(parsed);
    }
    if (pattern && Covers(*pattern, call)) co_return std::optional(grant.id);
  }
  co_return std::optional<GrantId>();
}

asio::awaitable<Result<StoredApproval>> ApprovalDesk::Ask(IsolationKey owner, Question question) {
  const ApprovalId id = ApprovalIdOf(question.binding.run, question.binding.seq);
  const SystemTime now = clock_.Now();
  NewApproval approval{.id = id,
                       .binding = question.binding,
                       .arguments = std::move(question.arguments),
                       .created_at = now,
                       .expires_at = now + options_.expire,
                       .session = std::move(question.session)};
  auto created = co_await store_.approvals().Create(owner, approval, options_.max_pending);
  if (created) co_return StoredApproval{.asked = std::move(approval)};
  if (created.error().code() != ErrorCode::kFailedPrecondition) {
    co_return std::move(created).error();
  }
  auto found = co_await store_.approvals().Find(owner, id);
  if (found && found->asked.binding != question.binding) co_return std::move(created).error();
  co_return found;
}

asio::awaitable<Result<StoredApproval>> ApprovalDesk::Decide(IsolationKey owner, ApprovalId id,
                                                             Answer answer,
                                                             std::shared_ptr<const Tool> tool) {
  auto found = co_await store_.approvals().Find(owner, id);
  if (!found) co_return std::move(found).error();
  if (auto good = CheckAnswer(found->asked, answer); !good) co_return std::move(good).error();
  auto edited = Edit(found->asked, answer, tool.get());
  if (!edited) co_return std::move(edited).error();
  auto decided = co_await store_.approvals().Decide(owner, id,
                                                    {.verdict = answer.verdict,
                                                     .by = answer.by,
                                                     .reason = answer.reason,
                                                     .at = clock_.Now(),
                                                     .edited = *std::move(edited)});
  if (!decided) co_return std::move(decided).error();
  notifier_.Notify(owner, decided->asked.binding.run);
  if (answer.standing) {
    auto granted = co_await AddGrant(owner, decided->asked, answer);
    if (!granted) co_return std::move(granted).error().Context("approved, but for this call only");
  }
  co_return decided;
}

asio::awaitable<Result<void>> ApprovalDesk::AddGrant(IsolationKey owner, const NewApproval& asked,
                                                     const Answer& answer) {
  auto pattern = Encode(PatternOf(asked, *answer.standing));
  if (!pattern) co_return std::move(pattern).error();
  const bool session = answer.standing->scope == StandingYes::Scope::kSession;
  auto added = co_await store_.approvals().AddGrant(
      owner, {.id = GrantId(WithPrefix("grt_", asked.id.str())),
              .tool = asked.binding.tool,
              .pattern = *std::move(pattern),
              .scope = session ? "session" : "always",
              .granted_by = answer.by,
              .granted_at = clock_.Now()});
  // A repeated answer finds the existing or revoked grant.
  if (!added && added.error().code() == ErrorCode::kFailedPrecondition) co_return Result<void>();
  co_return added;
}

asio::awaitable<Result<std::vector<Grant>>> ApprovalDesk::Grants(IsolationKey owner) {
  return store_.approvals().ListGrants(std::move(owner), std::nullopt);
}

asio::awaitable<Result<void>> ApprovalDesk::Revoke(IsolationKey owner, GrantId id, std::string by) {
  return store_.approvals().RevokeGrant(std::move(owner), std::move(id), std::move(by),
                                        clock_.Now());
}

asio::awaitable<Result<std::size_t>> ApprovalDesk::ExpireDue() {
  std::size_t count = 0;
  for (;;) {
    auto expired = co_await store_.maintenance().ExpireApprovals(clock_.Now(), kExpiredAtOnce);
    if (!expired) co_return std::move(expired).error();
    for (const ExpiredApproval& each : *expired) notifier_.Notify(each.owner, each.run);
    count += expired->size();
    if (expired->size() < kExpiredAtOnce) co_return count;
  }
}

}  // namespace caisson
