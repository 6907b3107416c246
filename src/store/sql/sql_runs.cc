#include <algorithm>
#include <string>
#include <utility>

#include "store/sql/ended_run_batches.h"
#include "store/sql/sql_audit.h"
#include "store/sql/sql_store.h"

namespace caisson {
namespace {

constexpr std::string_view kRunColumns =
    "r.id, r.state, r.code_digest, r.request, o.outcome, r.created_at, r.updated_at, "
    "r.cancel_asked_at, r.attempts";

Error NoSuchRun() {
  return Error(ErrorCode::kNotFound, "no such run");
}

Error LeaseLost() {
  return Error(ErrorCode::kFailedPrecondition, "the run is no longer held under this lease");
}

std::string Text(RunState state) {
  return std::string(ToString(state));
}
std::string Text(CallState state) {
  return std::string(ToString(state));
}

// The value was written by this program, so it is one of the states.
template <typename State>
State Parse(std::string_view text, State last) {
  for (int i = 0; i < static_cast<int>(last); ++i) {
    if (ToString(static_cast<State>(i)) == text) return static_cast<State>(i);
  }
  return last;
}

StoredRun ToRun(const SqlRow& row) {
  return {.id = RunId(row.Text(0)),
          .state = Parse(row.Text(1), RunState::kFinished),
          .code_digest = row.Text(2),
          .request = row.Blob(3),
          .outcome = row.Blob(4),
          .created_at = row.Time(5),
          .updated_at = row.Time(6),
          .cancel_asked = !row.is_null(7),
          .attempts = static_cast<std::uint32_t>(row.Int(8))};
}

constexpr std::string_view kListedColumns =
    "r.id, r.state, r.summary, r.created_at, r.updated_at, s.sealed_bytes, s.build, s.wake_at";

ListedRun ToListed(const SqlRow& row) {
  ListedRun run{.id = RunId(row.Text(0)),
                .state = Parse(row.Text(1), RunState::kFinished),
                .summary = row.Blob(2),
                .created_at = row.Time(3),
                .updated_at = row.Time(4)};
  if (row.is_null(5)) return run;
  run.saved_bytes = static_cast<std::uint64_t>(row.Int(5));
  run.saved_build = row.Text(6);
  if (!row.is_null(7)) run.wake_at = row.Time(7);
  return run;
}

StoredCall ToCall(const SqlRow& row) {
  return {.call = {.seq = static_cast<std::uint32_t>(row.Int(0)),
                   .tool = row.Text(1),
                   .tool_digest = row.Text(2),
                   .arguments = row.Blob(3),
                   .arguments_digest = row.Text(4),
                   .idempotency_key = row.Text(5),
                   .state = Parse(row.Text(6), CallState::kUncertain),
                   .trace = row.Blob(10)},
          .edited = row.is_null(11) ? std::nullopt
                                    : std::optional(EditedArguments{row.Blob(12), row.Text(11)}),
          .result = row.Blob(7),
          .begun_at = row.Time(8),
          .updated_at = row.Time(9)};
}

// Writing the row locks it to the end of the transaction, so no claim can come in between. A holder
// that changes the run has taken it up.
Result<void> CheckLease(Connection& connection, const IsolationKey& owner, const RunId& id,
                        const Lease& lease, SystemTime now) {
  TRY_ASSIGN(const SqlResult held,
             connection.Run("UPDATE runs SET updated_at = $5, taken_up = 1 "
                            "WHERE owner = $1 AND id = $2 "
                            "AND fence = $3 AND holder = $4 AND state <> 'finished'",
                            {owner.str(), id.str(), lease.fence, lease.holder, ToSql(now)}));
  if (held.changed == 1) return {};
  return LeaseLost();
}

Result<void> SetUnderWay(Connection& connection, const IsolationKey& owner, const RunId& id) {
  TRY(connection.Run("UPDATE runs SET state = 'running' WHERE owner = $1 AND id = $2",
                     {owner.str(), id.str()}));
  return {};
}

// Counts what the run takes in the store. LENGTH reads no contents.
Result<void> CountBytes(Connection& connection, const IsolationKey& owner, const RunId& id) {
  TRY(connection.Run(
      "UPDATE runs SET stored_bytes = LENGTH(request) + COALESCE(LENGTH(summary), 0) "
      "+ COALESCE((SELECT CAST(SUM(LENGTH(outcome)) AS BIGINT) FROM run_outcomes "
      "WHERE run_outcomes.owner = $1 AND run_outcomes.run = $2), 0) "
      "+ COALESCE((SELECT CAST(SUM(LENGTH(arguments) + COALESCE(LENGTH(result), 0) "
      "+ COALESCE(LENGTH(trace), 0)) AS BIGINT) FROM calls "
      "WHERE calls.owner = $1 AND calls.run = $2), 0) "
      "+ COALESCE((SELECT CAST(SUM(LENGTH(contents)) AS BIGINT) FROM run_files "
      "WHERE run_files.owner = $1 AND run_files.run = $2), 0) "
      "+ COALESCE((SELECT CAST(SUM(LENGTH(arguments) + COALESCE(LENGTH(edited), 0)) AS BIGINT) "
      "FROM approvals "
      "WHERE approvals.owner = $1 AND approvals.run = $2), 0) "
      "WHERE owner = $1 AND id = $2",
      {owner.str(), id.str()}));
  return {};
}

enum class Moved { kNow, kBefore };

// kBefore: an earlier attempt of the same operation did it; its caller did not learn the result
// (Lease::repeats).
Result<Moved> MoveCall(Connection& connection, const IsolationKey& owner, const RunId& id,
                       const Lease& lease, std::uint32_t seq, CallState from, CallState to,
                       SystemTime now) {
  TRY_ASSIGN(
      const SqlResult moved,
      connection.Run("UPDATE calls SET state = $5, updated_at = $6 "
                     "WHERE owner = $1 AND run = $2 AND seq = $3 AND state = $4",
                     {owner.str(), id.str(), std::int64_t{seq}, Text(from), Text(to), ToSql(now)}));
  if (moved.changed == 1) return Moved::kNow;
  TRY_ASSIGN(const SqlResult before,
             connection.Run("SELECT 1 FROM calls WHERE owner = $1 AND run = $2 AND seq = $3 "
                            "AND state = $4 AND updated_at = $5",
                            {owner.str(), id.str(), std::int64_t{seq}, Text(to), ToSql(now)}));
  if (lease.repeats && !before.rows.empty()) return Moved::kBefore;
  return Error(ErrorCode::kFailedPrecondition, "the call is not " + Text(from));
}

Result<bool> IsPending(Connection& connection, const IsolationKey& owner, const RunId& id,
                       std::uint32_t seq) {
  TRY_ASSIGN(const SqlResult found,
             connection.Run("SELECT 1 FROM calls WHERE owner = $1 AND run = $2 AND seq = $3 "
                            "AND state = 'pending'",
                            {owner.str(), id.str(), std::int64_t{seq}}));
  return !found.rows.empty();
}

constexpr std::string_view kConsent = "approval, by_grant, edited_digest";  // For AuditEffect.

// An effect that was approved, once or by a grant, is in the audit log from its start to its end.
Result<void> AuditEffect(Connection& connection, const IsolationKey& owner, const RunId& id,
                         std::int64_t seq, const SqlRow& consent, std::string_view what,
                         SystemTime now) {
  if (consent.is_null(0) && consent.is_null(1)) return {};
  const bool granted = consent.is_null(0);
  Dict details{{{"run", id.str()},
                {"seq", seq},
                {granted ? "grant" : "approval", consent.Text(granted ? 1 : 0)}}};
  if (!consent.is_null(2)) {
    details.items.emplace_back("edited_arguments_digest", consent.Text(2));
  }
  return AppendAudit(connection, owner, now, "effect." + std::string(what), std::move(details));
}

// Compares everything that an approval is bound to with the journal's record of the call, and what
// it allows with what is about to be executed (I5).
Result<void> Consume(Connection& connection, const IsolationKey& owner, const RunId& id,
                     std::uint32_t seq, const ApprovalUse& use, SystemTime now) {
  TRY_ASSIGN(const SqlResult consumed,
             connection.Run(
                 "UPDATE approvals SET state = 'consumed' WHERE owner = $1 AND id = $2 "
                 "AND state = 'approved' AND run = $3 AND seq = $4 "
                 "AND COALESCE(edited_digest, '') = $5 "
                 "AND EXISTS (SELECT 1 FROM calls c WHERE c.owner = approvals.owner "
                 "AND c.run = approvals.run AND c.seq = approvals.seq AND c.tool = approvals.tool "
                 "AND c.tool_digest = approvals.tool_digest "
                 "AND c.arguments_digest = approvals.arguments_digest) "
                 "AND EXISTS (SELECT 1 FROM runs r WHERE r.owner = approvals.owner "
                 "AND r.id = approvals.run AND r.code_digest = approvals.code_digest)",
                 {owner.str(), use.id.str(), id.str(), std::int64_t{seq}, use.edited_digest}));
  if (consumed.changed != 1) {
    return Error(ErrorCode::kFailedPrecondition, "the approval does not belong to this call");
  }
  TRY_ASSIGN(
      const SqlResult call,
      connection.Run("UPDATE calls SET approval = $4, edited_digest = NULLIF($5, '') "
                     "WHERE owner = $1 AND run = $2 AND seq = $3 RETURNING " +
                         std::string(kConsent),
                     {owner.str(), id.str(), std::int64_t{seq}, use.id.str(), use.edited_digest}));
  return AuditEffect(connection, owner, id, seq, call.rows.at(0), "started", now);
}

// The code has the decision, so nothing waits for it any more.
Result<void> MarkDelivered(Connection& connection, const IsolationKey& owner, const RunId& id,
                           std::uint32_t seq) {
  TRY(
      connection.Run("UPDATE approvals SET state = 'consumed' WHERE owner = $1 AND run = $2 "
                     "AND seq = $3 AND state IN ('denied', 'expired', 'cancelled')",
                     {owner.str(), id.str(), std::int64_t{seq}}));
  return {};
}

// Nothing can be decided about a finished run.
Result<void> CancelPending(Connection& connection, const IsolationKey& owner, const RunId& id,
                           SystemTime now) {
  TRY_ASSIGN(const SqlResult cancelled,
             connection.Run("UPDATE approvals SET state = 'cancelled', verdict = 'cancelled', "
                            "decided_by = '', reason = 'the run has ended', decided_at = $3 "
                            "WHERE owner = $1 AND run = $2 AND state = 'pending' RETURNING id",
                            {owner.str(), id.str(), ToSql(now)}));
  for (const SqlRow& row : cancelled.rows) {
    TRY(AppendAudit(connection, owner, now, "approval.cancelled",
                    Dict{{{"approval", row.Text(0)}, {"run", id.str()}}}));
  }
  return {};
}

// One statement decides: a key is taken if it is new or the old one has expired.
Result<void> TakeKey(Connection& connection, const IsolationKey& owner, const RunKey& key,
                     const RunId& run, SystemTime now) {
  TRY_ASSIGN(const SqlResult taken,
             connection.Run("INSERT INTO idempotency (owner, id, fingerprint, expires_at, reply) "
                            "VALUES ($1, $2, $3, $4, $5) ON CONFLICT (owner, id) DO UPDATE SET "
                            "fingerprint = excluded.fingerprint, "
                            "expires_at = excluded.expires_at, reply = excluded.reply "
                            "WHERE idempotency.expires_at <= $6",
                            {owner.str(), key.id.str(), key.fingerprint, ToSql(key.expires_at),
                             Bytes{run.str()}, ToSql(now)}));
  if (taken.changed == 1) return {};
  return Error(ErrorCode::kFailedPrecondition, "another request used this Idempotency-Key");
}

class SqlRuns final : public RunStore, public EndedRunStore {
 public:
  explicit SqlRuns(Database& database) : database_(database), ended_(database) {}

  asio::awaitable<Result<Lease>> Create(IsolationKey owner, NewRun run, LeaseTerm term) override {
    return database_.Transact<Lease>(Access::kWrite, [=](Connection& connection) -> Result<Lease> {
      TRY_ASSIGN(const SqlResult made,
                 connection.Run("INSERT INTO runs (owner, id, state, fence, holder, lease_until, "
                                "code_digest, request, created_at, updated_at, stored_bytes) "
                                "VALUES ($1, $2, 'running', 1, $3, $4, $5, $6, $7, $7, $8) "
                                "ON CONFLICT (owner, id) DO NOTHING",
                                {owner.str(), run.id.str(), term.holder, ToSql(term.until),
                                 run.code_digest, BytesView{run.request}, ToSql(term.now),
                                 static_cast<std::int64_t>(run.request.size())}));
      if (made.changed == 1) {
        if (run.key) TRY(TakeKey(connection, owner, *run.key, run.id, term.now));
        return Lease{term.holder, 1};
      }
      TRY_ASSIGN(const SqlResult before,
                 connection.Run(
                     "SELECT 1 FROM runs WHERE owner = $1 AND id = $2 AND fence = 1 "
                     "AND holder = $3 AND created_at = $4 AND code_digest = $5",
                     {owner.str(), run.id.str(), term.holder, ToSql(term.now), run.code_digest}));
      if (!before.rows.empty()) return Lease{term.holder, 1};
      return Error(ErrorCode::kFailedPrecondition, "a run with this id already exists");
    });
  }

  asio::awaitable<Result<KeyedRun>> FindByKey(IsolationKey owner, IdempotencyKey key,
                                              SystemTime now) override {
    return database_.Transact<KeyedRun>(
        Access::kRead, [=](Connection& connection) -> Result<KeyedRun> {
          TRY_ASSIGN(const SqlResult found,
                     connection.Run("SELECT reply, fingerprint FROM idempotency WHERE owner = $1 "
                                    "AND id = $2 AND expires_at > $3 AND reply IS NOT NULL",
                                    {owner.str(), key.str(), ToSql(now)}));
          if (found.rows.empty()) return NoSuchRun();
          return KeyedRun{RunId(found.rows[0].Blob(0)), found.rows[0].Text(1)};
        });
  }

  asio::awaitable<Result<void>> ForgetKey(IsolationKey owner, IdempotencyKey key,
                                          RunId run) override {
    return database_.Transact(Access::kWrite, [=](Connection& connection) -> Result<void> {
      TRY(connection.Run("DELETE FROM idempotency WHERE owner = $1 AND id = $2 AND reply = $3",
                         {owner.str(), key.str(), Bytes{run.str()}}));
      return {};
    });
  }

  asio::awaitable<Result<StoredRun>> Find(IsolationKey owner, RunId id) override {
    return database_.Transact<StoredRun>(
        Access::kRead, [=](Connection& connection) -> Result<StoredRun> {
          TRY_ASSIGN(const SqlResult found,
                     connection.Run("SELECT " + std::string(kRunColumns) +
                                        " FROM runs r LEFT JOIN run_outcomes o "
                                        "ON o.owner = r.owner AND o.run = r.id "
                                        "WHERE r.owner = $1 AND r.id = $2",
                                    {owner.str(), id.str()}));
          if (found.rows.empty()) return NoSuchRun();
          return ToRun(found.rows[0]);
        });
  }

  asio::awaitable<Result<Page<ListedRun>>> List(IsolationKey owner, std::optional<RunState> state,
                                                PageQuery query) override {
    using Runs = Page<ListedRun>;
    const std::uint32_t limit = std::min(query.limit, kMaxPageSize);
    return database_.Transact<Runs>(Access::kRead, [=](Connection& connection) -> Result<Runs> {
      const SqlValue wanted = state ? SqlValue(Text(*state)) : SqlValue();
      TRY_ASSIGN(
          const SqlResult found,
          connection.Run("SELECT " + std::string(kListedColumns) +
                             " FROM runs r LEFT JOIN saved_runs s "
                             "ON s.owner = r.owner AND s.run = r.id WHERE r.owner = $1 "
                             "AND (CAST($2 AS TEXT) IS NULL OR r.state = $2) "
                             "AND (CAST($3 AS TEXT) IS NULL OR r.id < $3) "
                             "ORDER BY r.id DESC LIMIT $4",
                         {owner.str(), wanted, ToSql(query.after), std::int64_t{limit} + 1}));
      Runs page;
      for (const SqlRow& row : found.rows) page.items.push_back(ToListed(row));
      if (page.items.size() > limit) {
        page.items.pop_back();
        page.next = page.items.empty() ? std::nullopt : std::optional(page.items.back().id.str());
      }
      return page;
    });
  }

  asio::awaitable<Result<Lease>> Claim(IsolationKey owner, RunId id, LeaseTerm term) override {
    return database_.Transact<Lease>(Access::kWrite, [=](Connection& connection) -> Result<Lease> {
      TRY_ASSIGN(
          const SqlResult claimed,
          connection.Run("UPDATE runs SET fence = fence + 1, holder = $3, lease_until = $4, "
                         "attempts = attempts + CASE WHEN holder = $3 OR taken_up = 0 THEN 0 "
                         "ELSE 1 END, taken_up = 0 "
                         "WHERE owner = $1 AND id = $2 AND state <> 'finished' "
                         "AND (holder IS NULL OR lease_until <= $5) RETURNING fence",
                         {owner.str(), id.str(), term.holder, ToSql(term.until), ToSql(term.now)}));
      if (!claimed.rows.empty()) return Lease{term.holder, claimed.rows[0].Int(0)};
      TRY_ASSIGN(const SqlResult found,
                 connection.Run("SELECT 1 FROM runs WHERE owner = $1 AND id = $2",
                                {owner.str(), id.str()}));
      if (found.rows.empty()) return NoSuchRun();
      return Error(ErrorCode::kFailedPrecondition, "the run is finished or held by another");
    });
  }

  asio::awaitable<Result<void>> Release(IsolationKey owner, RunId id, Lease lease) override {
    return Postpone(std::move(owner), std::move(id), std::move(lease), {});
  }

  asio::awaitable<Result<void>> Postpone(IsolationKey owner, RunId id, Lease lease,
                                         Setback setback) override {
    return database_.Transact(Access::kWrite, [=](Connection& connection) -> Result<void> {
      TRY_ASSIGN(const SqlResult released,
                 connection.Run("UPDATE runs SET holder = NULL, lease_until = 0, retry_at = $5, "
                                "attempts = attempts - $6, taken_up = 1 WHERE owner = $1 "
                                "AND id = $2 AND fence = $3 AND holder = $4",
                                {owner.str(), id.str(), lease.fence, lease.holder,
                                 ToSql(setback.retry_at), std::int64_t{setback.counts ? 0 : 1}}));
      return released.changed == 1 ? Result<void>() : LeaseLost();
    });
  }

  asio::awaitable<Result<void>> AskToCancel(IsolationKey owner, RunId id, SystemTime now) override {
    return database_.Transact(Access::kWrite, [=](Connection& connection) -> Result<void> {
      TRY_ASSIGN(const SqlResult asked,
                 connection.Run("UPDATE runs SET cancel_asked_at = COALESCE(cancel_asked_at, $3) "
                                "WHERE owner = $1 AND id = $2",
                                {owner.str(), id.str(), ToSql(now)}));
      return asked.changed == 1 ? Result<void>() : NoSuchRun();
    });
  }

  asio::awaitable<Result<void>> Wait(IsolationKey owner, RunId id, Lease lease,
                                     std::optional<SavedRun> saved, SystemTime now) override {
    return database_.Transact(Access::kWrite, [=](Connection& connection) -> Result<void> {
      TRY(CheckLease(connection, owner, id, lease, now));
      const bool somebody = !saved || saved->waits_for_somebody;
      TRY(connection.Run(
          "UPDATE runs SET state = $3, attempts = 0, retry_at = 0 "
          "WHERE owner = $1 AND id = $2",
          {owner.str(), id.str(), Text(somebody ? RunState::kWaiting : RunState::kRunning)}));
      TRY(CountBytes(connection, owner, id));
      if (!saved) return {};
      TRY(
          connection.Run("INSERT INTO saved_runs (owner, run, seq, build, sealed, sealed_bytes, "
                         "wake_at) VALUES ($1, $2, $3, $4, $5, $6, $7) "
                         "ON CONFLICT (owner, run) DO UPDATE SET "
                         "seq = excluded.seq, build = excluded.build, sealed = excluded.sealed, "
                         "sealed_bytes = excluded.sealed_bytes, wake_at = excluded.wake_at",
                         {owner.str(), id.str(), std::int64_t{saved->seq}, saved->build,
                          BytesView{saved->sealed}, static_cast<std::int64_t>(saved->sealed.size()),
                          saved->wake_at ? ToSql(*saved->wake_at) : SqlValue()}));
      return {};
    });
  }

  asio::awaitable<Result<void>> Resume(IsolationKey owner, RunId id, Lease lease,
                                       SystemTime now) override {
    return database_.Transact(Access::kWrite, [=](Connection& connection) -> Result<void> {
      TRY(CheckLease(connection, owner, id, lease, now));
      return SetUnderWay(connection, owner, id);
    });
  }

  asio::awaitable<Result<SavedRun>> LoadSaved(IsolationKey owner, RunId id) override {
    return database_.Transact<SavedRun>(
        Access::kRead, [=](Connection& connection) -> Result<SavedRun> {
          TRY_ASSIGN(const SqlResult found,
                     connection.Run("SELECT seq, build, sealed, wake_at FROM saved_runs "
                                    "WHERE owner = $1 AND run = $2",
                                    {owner.str(), id.str()}));
          if (found.rows.empty()) return Error(ErrorCode::kNotFound, "no such saved run");
          const SqlRow& row = found.rows[0];
          SavedRun saved{static_cast<std::uint32_t>(row.Int(0)), row.Text(1), row.Blob(2)};
          if (!row.is_null(3)) saved.wake_at = row.Time(3);
          return saved;
        });
  }

  asio::awaitable<Result<void>> Finish(IsolationKey owner, RunId id, Lease lease,
                                       std::shared_ptr<const RunEnd> end, SystemTime now) override {
    return database_.Transact(Access::kWrite, [=](Connection& connection) -> Result<void> {
      if (auto held = CheckLease(connection, owner, id, lease, now); !held) {
        // Only the holder of this lease can have finished a run of this fence.
        TRY_ASSIGN(const SqlResult before,
                   connection.Run("SELECT 1 FROM runs WHERE owner = $1 AND id = $2 "
                                  "AND fence = $3 AND state = 'finished'",
                                  {owner.str(), id.str(), lease.fence}));
        return lease.repeats && !before.rows.empty() ? Result<void>() : std::move(held);
      }
      TRY(
          connection.Run("UPDATE runs SET state = 'finished', holder = NULL, lease_until = 0, "
                         "summary = $3 WHERE owner = $1 AND id = $2",
                         {owner.str(), id.str(), BytesView{end->summary}}));
      TRY(connection.Run("INSERT INTO run_outcomes (owner, run, outcome) VALUES ($1, $2, $3)",
                         {owner.str(), id.str(), BytesView{end->outcome}}));
      TRY(connection.Run("DELETE FROM saved_runs WHERE owner = $1 AND run = $2",
                         {owner.str(), id.str()}));
      // A finished run is never replayed.
      TRY(
          connection.Run("UPDATE calls SET trace = NULL "
                         "WHERE owner = $1 AND run = $2 AND trace IS NOT NULL",
                         {owner.str(), id.str()}));
      TRY(CancelPending(connection, owner, id, now));
      for (std::size_t i = 0; i < end->files.size(); ++i) {
        TRY(connection.Run(
            "INSERT INTO run_files (owner, run, number, contents) VALUES ($1, $2, $3, $4)",
            {owner.str(), id.str(), static_cast<std::int64_t>(i), BytesView{end->files[i]}}));
      }
      return CountBytes(connection, owner, id);
    });
  }

  asio::awaitable<Result<void>> StoreEnded(EndedRun run) override {
    return ended_.Store(std::move(run));
  }

  asio::awaitable<Result<std::string>> LoadFile(IsolationKey owner, RunId id,
                                                std::uint32_t number) override {
    return database_.Transact<std::string>(
        Access::kRead, [=](Connection& connection) -> Result<std::string> {
          TRY_ASSIGN(const SqlResult found,
                     connection.Run("SELECT contents FROM run_files "
                                    "WHERE owner = $1 AND run = $2 AND number = $3",
                                    {owner.str(), id.str(), std::int64_t{number}}));
          if (found.rows.empty()) return Error(ErrorCode::kNotFound, "no such file");
          return found.rows[0].Blob(0);
        });
  }

  asio::awaitable<Result<RunUsage>> Usage(IsolationKey owner) override {
    return database_.Transact<RunUsage>(
        Access::kRead, [=](Connection& connection) -> Result<RunUsage> {
          TRY_ASSIGN(const SqlResult found,
                     connection.Run("SELECT (SELECT COUNT(*) FROM runs WHERE owner = $1 "
                                    "AND state = 'waiting'), "
                                    "(SELECT CAST(COALESCE(SUM(sealed_bytes), 0) AS BIGINT) "
                                    "FROM saved_runs WHERE owner = $1)",
                                    {owner.str()}));
          const SqlRow& row = found.rows.at(0);
          return RunUsage{static_cast<std::uint64_t>(row.Int(0)),
                          static_cast<std::uint64_t>(row.Int(1))};
        });
  }

  asio::awaitable<Result<std::uint64_t>> StoredBytes(IsolationKey owner) override {
    return database_.Transact<std::uint64_t>(
        Access::kRead, [=](Connection& connection) -> Result<std::uint64_t> {
          TRY_ASSIGN(const SqlResult found,
                     connection.Run("SELECT CAST(COALESCE(SUM(stored_bytes), 0) AS BIGINT) "
                                    "FROM runs WHERE owner = $1",
                                    {owner.str()}));
          return static_cast<std::uint64_t>(found.rows.at(0).Int(0));
        });
  }

  asio::awaitable<Result<void>> BeginCall(IsolationKey owner, RunId id, Lease lease, NewCall call,
                                          SystemTime now) override {
    return database_.Transact(Access::kWrite, [=](Connection& connection) -> Result<void> {
      const bool pending = call.state == CallState::kPending;
      if ((!pending && call.state != CallState::kStarted) || (pending && call.grant)) {
        return Error(ErrorCode::kInvalidArgument, "a call must begin as pending or started");
      }
      TRY(CheckLease(connection, owner, id, lease, now));
      TRY_ASSIGN(const SqlResult made,
                 connection.Run(
                     "INSERT INTO calls (owner, run, seq, state, tool, tool_digest, arguments, "
                     "arguments_digest, idempotency_key, by_grant, begun_at, updated_at, trace) "
                     "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11, $12) "
                     "ON CONFLICT (owner, run, seq) DO NOTHING RETURNING " +
                         std::string(kConsent),
                     {owner.str(), id.str(), std::int64_t{call.seq}, Text(call.state), call.tool,
                      call.tool_digest, BytesView{call.arguments}, call.arguments_digest,
                      call.idempotency_key, call.grant ? SqlValue(call.grant->str()) : SqlValue(),
                      ToSql(now), call.trace.empty() ? SqlValue() : SqlValue(Bytes{call.trace})}));
      if (!made.rows.empty()) {
        return AuditEffect(connection, owner, id, call.seq, made.rows[0], "started", now);
      }
      TRY_ASSIGN(const SqlResult before,
                 connection.Run("SELECT 1 FROM calls WHERE owner = $1 AND run = $2 AND seq = $3 "
                                "AND state = $4 AND tool = $5 AND arguments_digest = $6 "
                                "AND begun_at = $7 AND updated_at = $7",
                                {owner.str(), id.str(), std::int64_t{call.seq}, Text(call.state),
                                 call.tool, call.arguments_digest, ToSql(now)}));
      if (lease.repeats && !before.rows.empty()) return {};
      return Error(ErrorCode::kFailedPrecondition, "the call is already in the journal");
    });
  }

  asio::awaitable<Result<void>> StartCall(IsolationKey owner, RunId id, Lease lease,
                                          std::uint32_t seq, std::optional<ApprovalUse> approval,
                                          SystemTime now) override {
    return database_.Transact(Access::kWrite, [=](Connection& connection) -> Result<void> {
      TRY(CheckLease(connection, owner, id, lease, now));
      TRY_ASSIGN(const Moved moved, MoveCall(connection, owner, id, lease, seq, CallState::kPending,
                                             CallState::kStarted, now));
      if (moved == Moved::kBefore) return {};
      TRY(SetUnderWay(connection, owner, id));
      if (!approval) return {};
      return Consume(connection, owner, id, seq, *approval, now);
    });
  }

  asio::awaitable<Result<void>> RetryCall(IsolationKey owner, RunId id, Lease lease,
                                          std::uint32_t seq, SystemTime now) override {
    return database_.Transact(Access::kWrite, [=](Connection& connection) -> Result<void> {
      TRY(CheckLease(connection, owner, id, lease, now));
      TRY_ASSIGN(const Moved moved, MoveCall(connection, owner, id, lease, seq,
                                             CallState::kUncertain, CallState::kStarted, now));
      if (moved == Moved::kBefore) return {};
      TRY_ASSIGN(const SqlResult call,
                 connection.Run("SELECT " + std::string(kConsent) +
                                    " FROM calls WHERE owner = $1 AND run = $2 AND seq = $3",
                                {owner.str(), id.str(), std::int64_t{seq}}));
      return AuditEffect(connection, owner, id, seq, call.rows.at(0), "retried", now);
    });
  }

  asio::awaitable<Result<void>> FinishCall(IsolationKey owner, RunId id, Lease lease,
                                           std::uint32_t seq, CallState end, std::string result,
                                           SystemTime now) override {
    return database_.Transact(Access::kWrite, [=](Connection& connection) -> Result<void> {
      const bool ended = end == CallState::kReturned || end == CallState::kRaised;
      if (!ended && end != CallState::kDenied) {
        return Error(ErrorCode::kInvalidArgument, "a call must end as returned, raised or denied");
      }
      TRY(CheckLease(connection, owner, id, lease, now));
      bool pending = !ended;
      if (end == CallState::kRaised) {
        TRY_ASSIGN(pending, IsPending(connection, owner, id, seq));
      }
      TRY_ASSIGN(const Moved moved,
                 MoveCall(connection, owner, id, lease, seq,
                          pending ? CallState::kPending : CallState::kStarted, end, now));
      if (moved == Moved::kBefore) return {};
      if (pending) {
        TRY(MarkDelivered(connection, owner, id, seq));
        TRY(SetUnderWay(connection, owner, id));
      }
      TRY_ASSIGN(const SqlResult call,
                 connection.Run("UPDATE calls SET result = $4 "
                                "WHERE owner = $1 AND run = $2 AND seq = $3 RETURNING " +
                                    std::string(kConsent),
                                {owner.str(), id.str(), std::int64_t{seq}, BytesView{result}}));
      return AuditEffect(connection, owner, id, seq, call.rows.at(0), Text(end), now);
    });
  }

  asio::awaitable<Result<std::uint32_t>> DoubtStartedCalls(IsolationKey owner, RunId id,
                                                           Lease lease, SystemTime now) override {
    return database_.Transact<std::uint32_t>(
        Access::kWrite, [=](Connection& connection) -> Result<std::uint32_t> {
          TRY(CheckLease(connection, owner, id, lease, now));
          TRY_ASSIGN(const SqlResult doubted,
                     connection.Run("UPDATE calls SET state = 'uncertain', updated_at = $3 "
                                    "WHERE owner = $1 AND run = $2 AND state = 'started' "
                                    "RETURNING " +
                                        std::string(kConsent) + ", seq",
                                    {owner.str(), id.str(), ToSql(now)}));
          for (const SqlRow& row : doubted.rows) {
            TRY(AuditEffect(connection, owner, id, row.Int(3), row, "uncertain", now));
          }
          return static_cast<std::uint32_t>(doubted.rows.size());
        });
  }

  asio::awaitable<Result<std::vector<StoredCall>>> Calls(IsolationKey owner, RunId id) override {
    using Found = std::vector<StoredCall>;
    return database_.Transact<Found>(Access::kRead, [=](Connection& connection) -> Result<Found> {
      TRY_ASSIGN(const SqlResult found,
                 connection.Run("SELECT seq, tool, tool_digest, arguments, arguments_digest, "
                                "idempotency_key, state, result, begun_at, updated_at, trace, "
                                "edited_digest, CASE WHEN edited_digest IS NOT NULL THEN "
                                "(SELECT a.edited FROM approvals a WHERE a.owner = calls.owner "
                                "AND a.run = calls.run AND a.seq = calls.seq) END FROM calls "
                                "WHERE owner = $1 AND run = $2 ORDER BY seq",
                                {owner.str(), id.str()}));
      Found calls;
      for (const SqlRow& row : found.rows) calls.push_back(ToCall(row));
      return calls;
    });
  }

 private:
  Database& database_;
  EndedRunBatches ended_;
};

}  // namespace

std::unique_ptr<RunStore> MakeSqlRuns(Database& database) {
  return std::make_unique<SqlRuns>(database);
}

}  // namespace caisson
