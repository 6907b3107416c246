#include "store/sql/sql_audit.h"

#include <algorithm>
#include <utility>

#include "store/page.h"
#include "store/sql/sql_store.h"

namespace caisson {
namespace {

class SqlAudit final : public AuditLog {
 public:
  explicit SqlAudit(Database& database) : database_(database) {}

  asio::awaitable<Result<void>> Append(IsolationKey owner, AuditEvent event) override {
    return database_.Transact(Access::kWrite, [=](Connection& connection) {
      return AppendAudit(connection, owner, event);
    });
  }

  asio::awaitable<Result<std::vector<AuditEntry>>> Read(IsolationKey owner, std::int64_t after,
                                                        std::uint32_t limit) override {
    using Entries = std::vector<AuditEntry>;
    return database_.Transact<Entries>(
        Access::kRead, [=](Connection& connection) -> Result<Entries> {
          TRY_ASSIGN(const SqlResult found,
                     connection.Run("SELECT seq, at, kind, body, hash FROM audit "
                                    "WHERE owner = $1 AND seq > $2 ORDER BY seq LIMIT $3",
                                    {owner.str(), after, std::int64_t{limit}}));
          Entries entries;
          for (const SqlRow& row : found.rows) {
            entries.push_back({row.Int(0), {row.Time(1), row.Text(2), row.Text(3)}, row.Text(4)});
          }
          return entries;
        });
  }

  asio::awaitable<Result<AuditHead>> Head(IsolationKey owner) override {
    return database_.Transact<AuditHead>(
        Access::kRead, [=](Connection& connection) -> Result<AuditHead> {
          TRY_ASSIGN(
              const SqlResult found,
              connection.Run("SELECT seq, hash FROM audit_heads WHERE owner = $1", {owner.str()}));
          if (found.rows.empty()) return AuditHead{};
          return AuditHead{found.rows[0].Int(0), found.rows[0].Text(1)};
        });
  }

 private:
  Database& database_;
};

}  // namespace

Result<void> AppendAudit(Connection& connection, const IsolationKey& owner,
                         const AuditEvent& event) {
  TRY(
      connection.Run("INSERT INTO audit_heads (owner, seq, hash) VALUES ($1, 0, '') "
                     "ON CONFLICT (owner) DO NOTHING",
                     {owner.str()}));
  // Updating the head locks it, so the next entry waits until this transaction has ended.
  TRY_ASSIGN(const SqlResult head,
             connection.Run("UPDATE audit_heads SET seq = seq + 1 WHERE owner = $1 "
                            "RETURNING seq, hash",
                            {owner.str()}));
  const std::int64_t seq = head.rows.at(0).Int(0);
  const std::string hash = ChainHash(head.rows[0].Text(1), seq, event);
  TRY(connection.Run("UPDATE audit_heads SET hash = $2 WHERE owner = $1", {owner.str(), hash}));
  TRY(connection.Run(
      "INSERT INTO audit (owner, seq, at, kind, body, hash) VALUES ($1, $2, $3, $4, $5, $6)",
      {owner.str(), seq, ToSql(event.at), event.kind, event.body, hash}));
  return {};
}

Result<void> AppendAudit(Connection& connection, const IsolationKey& owner, SystemTime at,
                         std::string kind, Dict details) {
  TRY_ASSIGN(std::string body, ToJson(Value(std::move(details))));
  return AppendAudit(connection, owner, AuditEvent{at, std::move(kind), std::move(body)});
}

std::unique_ptr<AuditLog> MakeSqlAudit(Database& database) {
  return std::make_unique<SqlAudit>(database);
}

}  // namespace caisson
