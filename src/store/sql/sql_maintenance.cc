#include <algorithm>
#include <string>
#include <utility>

#include "store/sql/sql_audit.h"
#include "store/sql/sql_store.h"

namespace caisson {
namespace {

// Removes the data of a run before the run itself. A run with a pending approval is kept in every
// state.
Result<std::int64_t> SweepRuns(Connection& connection, const SqlValue& before) {
  constexpr std::string_view kOld =
      "SELECT r.owner, r.id FROM runs r WHERE r.state = 'finished' AND r.updated_at < $1 "
      "AND NOT EXISTS (SELECT 1 FROM approvals p WHERE p.owner = r.owner AND p.run = r.id "
      "AND p.state = 'pending')";
  for (const std::string_view table :
       {"calls", "run_files", "run_outcomes", "saved_runs", "approvals"}) {
    std::string sql = "DELETE FROM " + std::string(table) + " WHERE (owner, run) IN (";
    TRY(connection.Run(sql.append(kOld).append(")"), {before}));
  }
  std::string sql = "DELETE FROM runs WHERE (owner, id) IN (";
  TRY_ASSIGN(const SqlResult swept, connection.Run(sql.append(kOld).append(")"), {before}));
  return swept.changed;
}

Result<std::int64_t> SweepResponses(Connection& connection, const SqlValue& before) {
  // A turn that is under way is kept.
  constexpr std::string_view kOld =
      "SELECT r.owner, r.id FROM responses r WHERE r.updated_at < $1 AND NOT EXISTS "
      "(SELECT 1 FROM response_leases l WHERE l.owner = r.owner AND l.response = r.id)";
  std::string events = "DELETE FROM response_events WHERE (owner, response) IN (";
  TRY(connection.Run(events.append(kOld).append(")"), {before}));
  std::string old = "DELETE FROM responses WHERE (owner, id) IN (";
  TRY_ASSIGN(const SqlResult responses, connection.Run(old.append(kOld).append(")"), {before}));
  TRY(
      connection.Run("DELETE FROM conversation_items WHERE (owner, conversation) IN "
                     "(SELECT owner, id FROM conversations WHERE updated_at < $1)",
                     {before}));
  TRY_ASSIGN(const SqlResult conversations,
             connection.Run("DELETE FROM conversations WHERE updated_at < $1", {before}));
  return responses.changed + conversations.changed;
}

Result<std::int64_t> SweepCheckpoints(Connection& connection, const SqlValue& before) {
  TRY_ASSIGN(const SqlResult swept,
             connection.Run("DELETE FROM checkpoints WHERE (owner, instance) IN "
                            "(SELECT owner, instance FROM checkpoint_heads WHERE updated_at < $1)",
                            {before}));
  TRY(connection.Run("DELETE FROM checkpoint_heads WHERE updated_at < $1", {before}));
  return swept.changed;
}

std::vector<OwnedRun> ToRuns(const SqlResult& found) {
  std::vector<OwnedRun> runs;
  for (const SqlRow& row : found.rows) {
    runs.push_back({IsolationKey::FromStored(row.Text(0)), RunId(row.Text(1))});
  }
  return runs;
}

class SqlMaintenance final : public StoreMaintenance {
 public:
  explicit SqlMaintenance(Database& database) : database_(database) {}

  asio::awaitable<Result<std::vector<OwnedRun>>> ResumableRuns(SystemTime now,
                                                               std::uint32_t limit) override {
    using Runs = std::vector<OwnedRun>;
    // CROSS JOIN makes SQLite start with the decisions, which are few, and not with the runs.
    return database_.Transact<Runs>(Access::kRead, [=](Connection& connection) -> Result<Runs> {
      TRY_ASSIGN(
          const SqlResult found,
          connection.Run(
              "SELECT owner, id FROM runs WHERE state = 'running' AND retry_at <= $1 "
              "AND (holder IS NULL OR lease_until <= $1) UNION "
              "SELECT owner, id FROM runs WHERE cancel_asked_at IS NOT NULL "
              "AND state <> 'finished' AND (holder IS NULL OR lease_until <= $1) UNION "
              "SELECT r.owner, r.id FROM saved_runs s CROSS JOIN runs r "
              "WHERE s.sealed_bytes = 0 AND r.owner = s.owner AND r.id = s.run "
              "AND r.state = 'waiting' AND (r.holder IS NULL OR r.lease_until <= $1) UNION "
              "SELECT r.owner, r.id FROM saved_runs s CROSS JOIN runs r "
              "WHERE s.wake_at <= $1 AND r.owner = s.owner AND r.id = s.run "
              "AND r.state = 'waiting' AND r.retry_at <= $1 "
              "AND (r.holder IS NULL OR r.lease_until <= $1) UNION "
              "SELECT r.owner, r.id FROM approvals a CROSS JOIN calls c CROSS JOIN runs r "
              "WHERE a.state IN ('approved', 'denied', 'expired', 'cancelled') "
              "AND c.owner = a.owner AND c.run = a.run AND c.seq = a.seq AND c.state = 'pending' "
              "AND r.owner = a.owner AND r.id = a.run AND r.state = 'waiting' "
              "AND r.retry_at <= $1 AND (r.holder IS NULL OR r.lease_until <= $1) LIMIT $2",
              {ToSql(now), std::int64_t{limit}}));
      return ToRuns(found);
    });
  }

  asio::awaitable<Result<std::vector<OwnedRun>>> DecidedRuns(std::string holder,
                                                             std::uint32_t limit) override {
    using Runs = std::vector<OwnedRun>;
    return database_.Transact<Runs>(Access::kRead, [=](Connection& connection) -> Result<Runs> {
      TRY_ASSIGN(
          const SqlResult found,
          connection.Run(
              "SELECT DISTINCT r.owner, r.id FROM approvals a CROSS JOIN calls c CROSS JOIN runs r "
              "WHERE a.state IN ('approved', 'denied', 'expired', 'cancelled') "
              "AND c.owner = a.owner AND c.run = a.run AND c.seq = a.seq AND c.state = 'pending' "
              "AND r.owner = a.owner AND r.id = a.run AND r.state <> 'finished' "
              "AND r.holder = $1 LIMIT $2",
              {holder, std::int64_t{limit}}));
      return ToRuns(found);
    });
  }

  asio::awaitable<Result<std::vector<OwnedRun>>> RunsToCancel(std::string holder,
                                                              std::uint32_t limit) override {
    using Runs = std::vector<OwnedRun>;
    return database_.Transact<Runs>(Access::kRead, [=](Connection& connection) -> Result<Runs> {
      TRY_ASSIGN(const SqlResult found,
                 connection.Run("SELECT owner, id FROM runs WHERE holder = $1 "
                                "AND cancel_asked_at IS NOT NULL AND state <> 'finished' LIMIT $2",
                                {holder, std::int64_t{limit}}));
      return ToRuns(found);
    });
  }

  asio::awaitable<Result<std::vector<HeldRun>>> Renew(std::vector<HeldRun> held,
                                                      SystemTime until) override {
    using Runs = std::vector<HeldRun>;
    return database_.Transact<Runs>(
        Access::kWrite, [held = std::move(held), until](Connection& connection) -> Result<Runs> {
          Runs lost;
          for (const HeldRun& each : held) {
            TRY_ASSIGN(const SqlResult renewed,
                       connection.Run("UPDATE runs SET lease_until = $5 WHERE owner = $1 "
                                      "AND id = $2 AND fence = $3 AND holder = $4",
                                      {each.owner.str(), each.run.str(), each.lease.fence,
                                       each.lease.holder, ToSql(until)}));
            if (renewed.changed != 1) lost.push_back(each);
          }
          return lost;
        });
  }

  asio::awaitable<Result<std::vector<OwnedTurn>>> TurnsToTake(SystemTime now,
                                                              std::uint32_t limit) override {
    return Turns("SELECT owner, response FROM response_leases WHERE lease_until <= $1 LIMIT $2",
                 ToSql(now), limit);
  }

  asio::awaitable<Result<std::vector<OwnedTurn>>> TurnsToCancel(std::string holder,
                                                                std::uint32_t limit) override {
    return Turns(
        "SELECT owner, response FROM response_leases WHERE holder = $1 "
        "AND cancel_asked_at IS NOT NULL LIMIT $2",
        holder, limit);
  }

  asio::awaitable<Result<void>> RenewTurns(std::string holder, SystemTime until) override {
    return database_.Transact(Access::kWrite, [=](Connection& connection) -> Result<void> {
      TRY(connection.Run("UPDATE response_leases SET lease_until = $2 WHERE holder = $1",
                         {holder, ToSql(until)}));
      TRY(connection.Run("UPDATE conversation_turns SET lease_until = $2 WHERE holder = $1",
                         {holder, ToSql(until)}));
      return {};
    });
  }

  asio::awaitable<Result<RunUsage>> Usage() override {
    return database_.Transact<RunUsage>(
        Access::kRead, [](Connection& connection) -> Result<RunUsage> {
          TRY_ASSIGN(const SqlResult found,
                     connection.Run("SELECT (SELECT COUNT(*) FROM runs WHERE state = 'waiting'), "
                                    "(SELECT CAST(COALESCE(SUM(sealed_bytes), 0) AS BIGINT) "
                                    "FROM saved_runs)"));
          const SqlRow& row = found.rows.at(0);
          return RunUsage{static_cast<std::uint64_t>(row.Int(0)),
                          static_cast<std::uint64_t>(row.Int(1))};
        });
  }

  asio::awaitable<Result<std::vector<ExpiredApproval>>> ExpireApprovals(
      SystemTime now, std::uint32_t limit) override {
    using Expired = std::vector<ExpiredApproval>;
    return database_.Transact<Expired>(
        Access::kWrite, [=](Connection& connection) -> Result<Expired> {
          TRY_ASSIGN(const SqlResult found,
                     connection.Run("UPDATE approvals SET state = 'expired', verdict = 'expired', "
                                    "decided_by = '', reason = '', decided_at = $1 "
                                    "WHERE state = 'pending' AND (owner, id) IN "
                                    "(SELECT owner, id FROM approvals WHERE state = 'pending' "
                                    "AND expires_at <= $1 ORDER BY expires_at LIMIT $2) "
                                    "RETURNING owner, id, run",
                                    {ToSql(now), std::int64_t{limit}}));
          Expired expired;
          for (const SqlRow& row : found.rows) {
            expired.push_back({IsolationKey::FromStored(row.Text(0)), ApprovalId(row.Text(1)),
                               RunId(row.Text(2))});
          }
          // In one fixed order, so that two replicas that append for the same owners do not
          // deadlock.
          std::ranges::sort(expired, {}, &ExpiredApproval::owner);
          for (const ExpiredApproval& each : expired) {
            TRY(AppendAudit(connection, each.owner, now, "approval.expired",
                            Dict{{{"approval", each.approval.str()}, {"run", each.run.str()}}}));
          }
          return expired;
        });
  }

  asio::awaitable<Result<SweepReport>> Sweep(Retention retention, SystemTime now) override {
    return database_.Transact<SweepReport>(
        Access::kWrite, [=](Connection& connection) -> Result<SweepReport> {
          SweepReport report;
          TRY_ASSIGN(report.runs, SweepRuns(connection, ToSql(now - retention.finished_runs)));
          TRY_ASSIGN(report.responses,
                     SweepResponses(connection, ToSql(now - retention.responses)));
          TRY_ASSIGN(report.checkpoints,
                     SweepCheckpoints(connection, ToSql(now - retention.checkpoints)));
          TRY_ASSIGN(const SqlResult documents,
                     connection.Run("DELETE FROM documents WHERE updated_at < $1",
                                    {ToSql(now - retention.documents)}));
          report.documents = documents.changed;
          TRY_ASSIGN(
              const SqlResult keys,
              connection.Run("DELETE FROM idempotency WHERE expires_at <= $1", {ToSql(now)}));
          report.idempotency_keys = keys.changed;
          return report;
        });
  }

  asio::awaitable<Result<void>> CheckWritable() override {
    return database_.Transact(Access::kWrite, [](Connection& connection) -> Result<void> {
      TRY(connection.Run("UPDATE caisson_schema SET version = version"));
      return {};
    });
  }

  asio::awaitable<Result<std::vector<OwnedAuditHead>>> AuditHeads() override {
    using Heads = std::vector<OwnedAuditHead>;
    return database_.Transact<Heads>(Access::kRead, [](Connection& connection) -> Result<Heads> {
      TRY_ASSIGN(const SqlResult found,
                 connection.Run("SELECT owner, seq, hash FROM audit_heads ORDER BY owner"));
      Heads heads;
      for (const SqlRow& row : found.rows) {
        heads.push_back({IsolationKey::FromStored(row.Text(0)), {row.Int(1), row.Text(2)}});
      }
      return heads;
    });
  }

 private:
  asio::awaitable<Result<std::vector<OwnedTurn>>> Turns(std::string_view query, SqlValue which,
                                                        std::uint32_t limit) {
    using Found = std::vector<OwnedTurn>;
    return database_.Transact<Found>(Access::kRead, [=](Connection& connection) -> Result<Found> {
      TRY_ASSIGN(const SqlResult found, connection.Run(query, {which, std::int64_t{limit}}));
      Found turns;
      for (const SqlRow& row : found.rows) {
        turns.push_back({IsolationKey::FromStored(row.Text(0)), ResponseId(row.Text(1))});
      }
      return turns;
    });
  }

  Database& database_;
};

}  // namespace

std::unique_ptr<StoreMaintenance> MakeSqlMaintenance(Database& database) {
  return std::make_unique<SqlMaintenance>(database);
}

}  // namespace caisson
