#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "store/sql/sql_audit.h"
#include "store/sql/sql_store.h"

namespace caisson {
namespace {

// The column `state` becomes 'consumed' when the code has received the decision, also a denial.
// People then see the decision; to them, "consumed" is an approval whose call was made.
constexpr std::string_view kState =
    "CASE WHEN state = 'consumed' AND verdict <> 'approved' THEN verdict ELSE state END";

// The journal has the arguments of its calls. An approval has a copy only if there is no such call.
constexpr std::string_view kArguments =
    "CASE WHEN LENGTH(arguments) > 0 THEN arguments ELSE COALESCE((SELECT c.arguments FROM calls c "
    "WHERE c.owner = approvals.owner AND c.run = approvals.run AND c.seq = approvals.seq "
    "AND c.arguments_digest = approvals.arguments_digest), arguments) END";

// The same for lists: NULL instead of long ones. LENGTH reads no contents. It comes before the
// digest, which SQLite finds only by reading past the arguments.
std::string ListedArguments() {
  const std::string fits = " <= " + std::to_string(kMaxListedArgumentBytes);
  return "CASE WHEN LENGTH(arguments) > 0 THEN CASE WHEN LENGTH(arguments)" + fits +
         " THEN arguments END ELSE (SELECT c.arguments FROM calls c "
         "WHERE c.owner = approvals.owner AND c.run = approvals.run AND c.seq = approvals.seq "
         "AND LENGTH(c.arguments)" +
         fits + " AND c.arguments_digest = approvals.arguments_digest) END";
}

// For lists: NULL instead of a long text.
std::string ListedEdit() {
  return "CASE WHEN LENGTH(edited) <= " + std::to_string(kMaxListedArgumentBytes) +
         " THEN edited END";
}

struct Columns {
  std::string arguments;
  std::string edited;
};

std::string Select(const Columns& columns, std::string_view rest) {
  return "SELECT id, run, seq, tool, tool_digest, arguments_digest, code_digest, " +
         columns.arguments + ", created_at, expires_at, " + std::string(kState) +
         ", verdict, decided_by, reason, decided_at, session, session_id, edited_digest, " +
         columns.edited + " FROM approvals " + std::string(rest);
}

Error NoSuchApproval() {
  return Error(ErrorCode::kNotFound, "no such approval");
}

ApprovalState ParseState(std::string_view text) {
  for (const ApprovalState state : kApprovalStates) {
    if (ToString(state) == text) return state;
  }
  return ApprovalState::kConsumed;  // It cannot be used any more.
}

std::optional<CallSession> ToSession(const SqlRow& row) {
  auto name = row.OptionalText(15);
  if (!name) return std::nullopt;
  return CallSession{*std::move(name), SessionId(row.OptionalText(16).value_or(""))};
}

StoredApproval ToApproval(const SqlRow& row) {
  StoredApproval approval{.asked = {.id = ApprovalId(row.Text(0)),
                                    .binding = {.run = RunId(row.Text(1)),
                                                .seq = static_cast<std::uint32_t>(row.Int(2)),
                                                .tool = row.Text(3),
                                                .tool_digest = row.Text(4),
                                                .arguments_digest = row.Text(5),
                                                .code_digest = row.Text(6)},
                                    .arguments = row.Blob(7),
                                    .created_at = row.Time(8),
                                    .expires_at = row.Time(9),
                                    .session = ToSession(row)},
                          .state = ParseState(row.Text(10))};
  if (!row.is_null(11)) {
    approval.decision =
        Decision{ParseState(row.Text(11)), row.Text(12), row.Text(13), row.Time(14)};
    if (auto digest = row.OptionalText(17)) {
      approval.decision->edited =
          EditedArguments{.text = row.Blob(18), .digest = *std::move(digest)};
    }
  }
  return approval;
}

// `left`: bytes of arguments that the page still has room for.
StoredApproval ToListed(const SqlRow& row, std::size_t& left) {
  StoredApproval approval = ToApproval(row);
  std::string& arguments = approval.asked.arguments;
  approval.arguments_omitted = row.is_null(7) || arguments.size() > left;
  if (approval.arguments_omitted) arguments = {};
  left -= arguments.size();
  if (approval.decision && approval.decision->edited) {
    std::string& edited = approval.decision->edited->text;
    if (edited.size() > left) edited = {};
    left -= edited.size();
  }
  return approval;
}

Result<StoredApproval> FindApproval(Connection& connection, const IsolationKey& owner,
                                    const ApprovalId& id) {
  TRY_ASSIGN(const SqlResult found, connection.Run(Select({std::string(kArguments), "edited"},
                                                          "WHERE owner = $1 AND id = $2"),
                                                   {owner.str(), id.str()}));
  if (found.rows.empty()) return NoSuchApproval();
  return ToApproval(found.rows[0]);
}

bool IsVerdict(ApprovalState state) {
  return state == ApprovalState::kApproved || state == ApprovalState::kDenied ||
         state == ApprovalState::kCancelled;
}

class SqlApprovals final : public ApprovalStore {
 public:
  explicit SqlApprovals(Database& database) : database_(database) {}

  asio::awaitable<Result<void>> Create(IsolationKey owner, NewApproval approval,
                                       std::uint32_t max_pending) override {
    return database_.Transact(Access::kWrite, [=](Connection& connection) -> Result<void> {
      const CallBinding& call = approval.binding;
      const SqlValue session = approval.session ? SqlValue(approval.session->name) : SqlValue();
      const SqlValue session_id =
          approval.session ? SqlValue(approval.session->id.str()) : SqlValue();
      TRY_ASSIGN(const SqlResult journaled,
                 connection.Run(
                     "SELECT 1 FROM calls WHERE owner = $1 AND run = $2 AND seq = $3 "
                     "AND arguments_digest = $4",
                     {owner.str(), call.run.str(), std::int64_t{call.seq}, call.arguments_digest}));
      const Bytes arguments{journaled.rows.empty() ? approval.arguments : std::string()};
      TRY_ASSIGN(
          const SqlResult made,
          connection.Run(
              "INSERT INTO approvals (owner, id, run, seq, state, tool, tool_digest, "
              "arguments_digest, code_digest, arguments, created_at, expires_at, session, "
              "session_id) VALUES "
              "($1, $2, $3, $4, 'pending', $5, $6, $7, $8, $9, $10, $11, $12, $13) "
              "ON CONFLICT DO NOTHING",
              {owner.str(), approval.id.str(), call.run.str(), std::int64_t{call.seq}, call.tool,
               call.tool_digest, call.arguments_digest, call.code_digest, arguments,
               ToSql(approval.created_at), ToSql(approval.expires_at), session, session_id}));
      if (made.changed != 1) {
        return Error(ErrorCode::kFailedPrecondition,
                     "the approval, or another one for its call, already exists");
      }
      // Counted with this one, so that repeating the request for an existing approval does not
      // fail.
      TRY_ASSIGN(const SqlResult pending, connection.Run("SELECT COUNT(*) FROM approvals "
                                                         "WHERE owner = $1 AND state = 'pending'",
                                                         {owner.str()}));
      if (pending.rows.at(0).Int(0) <= std::int64_t{max_pending}) return {};
      return Error(ErrorCode::kResourceExhausted, "too many approvals are waiting");
    });
  }

  asio::awaitable<Result<StoredApproval>> Find(IsolationKey owner, ApprovalId id) override {
    return database_.Transact<StoredApproval>(
        Access::kRead, [=](Connection& connection) { return FindApproval(connection, owner, id); });
  }

  asio::awaitable<Result<Page<StoredApproval>>> List(IsolationKey owner,
                                                     std::optional<ApprovalState> state,
                                                     PageQuery query) override {
    using Approvals = Page<StoredApproval>;
    const std::uint32_t limit = std::min(query.limit, kMaxPageSize);
    return database_.Transact<Approvals>(
        Access::kRead, [=](Connection& connection) -> Result<Approvals> {
          const SqlValue wanted = state ? SqlValue(std::string(ToString(*state))) : SqlValue();
          TRY_ASSIGN(
              const SqlResult found,
              connection.Run(Select({ListedArguments(), ListedEdit()},
                                    "WHERE owner = $1 AND (CAST($2 AS TEXT) IS NULL OR " +
                                        std::string(kState) +
                                        " = $2) AND (CAST($3 AS TEXT) IS NULL OR id < $3) "
                                        "ORDER BY id DESC LIMIT $4"),
                             {owner.str(), wanted, ToSql(query.after), std::int64_t{limit} + 1}));
          Approvals page;
          std::size_t left = kMaxListedPageBytes;
          for (const SqlRow& row : found.rows) page.items.push_back(ToListed(row, left));
          if (page.items.size() > limit) {
            page.items.pop_back();
            if (!page.items.empty()) page.next = page.items.back().asked.id.str();
          }
          return page;
        });
  }

  asio::awaitable<Result<StoredApproval>> Decide(IsolationKey owner, ApprovalId id,
                                                 Decision decision) override {
    return database_.Transact<StoredApproval>(
        Access::kWrite, [=](Connection& connection) -> Result<StoredApproval> {
          if (!IsVerdict(decision.verdict)) {
            return Error(ErrorCode::kInvalidArgument,
                         "a decision must be approved, denied or cancelled");
          }
          if (decision.edited && decision.verdict != ApprovalState::kApproved) {
            return Error(ErrorCode::kInvalidArgument, "only an approval can change arguments");
          }
          const std::string verdict(ToString(decision.verdict));
          const SqlValue edited =
              decision.edited ? SqlValue(Bytes{decision.edited->text}) : SqlValue();
          const SqlValue edited_digest =
              decision.edited ? SqlValue(decision.edited->digest) : SqlValue();
          TRY_ASSIGN(
              const SqlResult decided,
              connection.Run("UPDATE approvals SET state = $3, verdict = $3, decided_by = $4, "
                             "reason = $5, decided_at = $6, edited = $7, edited_digest = $8 "
                             "WHERE owner = $1 AND id = $2 "
                             "AND state = 'pending' AND expires_at > $6",
                             {owner.str(), id.str(), verdict, decision.by, decision.reason,
                              ToSql(decision.at), edited, edited_digest}));
          TRY_ASSIGN(StoredApproval approval, FindApproval(connection, owner, id));
          if (decided.changed == 1) {
            TRY(Audit(connection, owner, approval));
            return approval;
          }
          if (approval.decision && approval.decision->verdict == decision.verdict &&
              approval.decision->edited == decision.edited) {
            return approval;
          }
          return Error(ErrorCode::kFailedPrecondition, approval.decision
                                                           ? "the approval has already been decided"
                                                           : "the approval has expired");
        });
  }

  asio::awaitable<Result<void>> AddGrant(IsolationKey owner, Grant grant) override {
    return database_.Transact(Access::kWrite, [=](Connection& connection) -> Result<void> {
      TRY_ASSIGN(const SqlResult made,
                 connection.Run("INSERT INTO grants (owner, id, tool, pattern, scope, granted_by, "
                                "granted_at) VALUES ($1, $2, $3, $4, $5, $6, $7) "
                                "ON CONFLICT (owner, id) DO NOTHING",
                                {owner.str(), grant.id.str(), grant.tool, Bytes{grant.pattern},
                                 grant.scope, grant.granted_by, ToSql(grant.granted_at)}));
      if (made.changed != 1) {
        return Error(ErrorCode::kFailedPrecondition, "a grant with this id already exists");
      }
      return AppendAudit(connection, owner, grant.granted_at, "grant.given",
                         Dict{{{"grant", grant.id.str()},
                               {"tool", grant.tool},
                               {"scope", grant.scope},
                               {"by", grant.granted_by}}});
    });
  }

  asio::awaitable<Result<std::vector<Grant>>> ListGrants(IsolationKey owner,
                                                         std::optional<std::string> tool) override {
    using Grants = std::vector<Grant>;
    return database_.Transact<Grants>(Access::kRead, [=](Connection& connection) -> Result<Grants> {
      TRY_ASSIGN(const SqlResult found,
                 connection.Run("SELECT id, tool, pattern, scope, granted_by, granted_at "
                                "FROM grants WHERE owner = $1 AND revoked_at IS NULL "
                                "AND (CAST($2 AS TEXT) IS NULL OR tool = $2) ORDER BY id",
                                {owner.str(), ToSql(tool)}));
      Grants grants;
      for (const SqlRow& row : found.rows) {
        grants.push_back({GrantId(row.Text(0)), row.Text(1), row.Blob(2), row.Text(3), row.Text(4),
                          row.Time(5)});
      }
      return grants;
    });
  }

  asio::awaitable<Result<void>> RevokeGrant(IsolationKey owner, GrantId id, std::string by,
                                            SystemTime at) override {
    return database_.Transact(Access::kWrite, [=](Connection& connection) -> Result<void> {
      TRY_ASSIGN(const SqlResult revoked,
                 connection.Run("UPDATE grants SET revoked_at = $3 "
                                "WHERE owner = $1 AND id = $2 AND revoked_at IS NULL",
                                {owner.str(), id.str(), ToSql(at)}));
      if (revoked.changed != 1) return Error(ErrorCode::kNotFound, "no such grant");
      return AppendAudit(connection, owner, at, "grant.revoked",
                         Dict{{{"grant", id.str()}, {"by", by}}});
    });
  }

 private:
  static Result<void> Audit(Connection& connection, const IsolationKey& owner,
                            const StoredApproval& approval) {
    const CallBinding& call = approval.asked.binding;
    Dict details{{{"approval", approval.asked.id.str()},
                  {"run", call.run.str()},
                  {"seq", std::int64_t{call.seq}},
                  {"tool", call.tool},
                  {"arguments_digest", call.arguments_digest},
                  {"by", approval.decision->by},
                  {"reason", approval.decision->reason}}};
    if (const auto& edited = approval.decision->edited) {
      details.items.emplace_back("edited_arguments_digest", edited->digest);
    }
    return AppendAudit(connection, owner, approval.decision->at,
                       "approval." + std::string(ToString(approval.state)), std::move(details));
  }

  Database& database_;
};

}  // namespace

std::unique_ptr<ApprovalStore> MakeSqlApprovals(Database& database) {
  return std::make_unique<SqlApprovals>(database);
}

}  // namespace caisson
