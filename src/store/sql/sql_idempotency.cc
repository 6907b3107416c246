#include <string>
#include <utility>

#include "store/sql/sql_store.h"

namespace caisson {
namespace {

class SqlIdempotency final : public IdempotencyStore {
 public:
  explicit SqlIdempotency(Database& database) : database_(database) {}

  asio::awaitable<Result<IdempotencyAnswer>> Begin(IsolationKey owner, IdempotencyKey key,
                                                   std::string fingerprint, SystemTime now,
                                                   SystemTime expires_at) override {
    using Answer = IdempotencyAnswer;
    return database_.Transact<Answer>(
        Access::kWrite, [=](Connection& connection) -> Result<Answer> {
          // One statement, so that of two at once exactly one is fresh: a new key, or one whose time is over.
          TRY_ASSIGN(
              const SqlResult fresh,
              connection.Run("INSERT INTO idempotency (owner, id, fingerprint, expires_at) "
                             "VALUES ($1, $2, $3, $4) ON CONFLICT (owner, id) DO UPDATE SET "
                             "fingerprint = excluded.fingerprint, "
                             "expires_at = excluded.expires_at, reply = NULL "
                             "WHERE idempotency.expires_at <= $5",
                             {owner.str(), key.str(), fingerprint, ToSql(expires_at), ToSql(now)}));
          if (fresh.changed == 1) return Answer{Answer::Kind::kFresh};
          TRY_ASSIGN(const SqlResult found,
                     connection.Run("SELECT fingerprint, reply FROM idempotency "
                                    "WHERE owner = $1 AND id = $2",
                                    {owner.str(), key.str()}));
          if (found.rows.empty()) return Answer{Answer::Kind::kInProgress};  // Just abandoned.
          const SqlRow& row = found.rows[0];
          if (row.Text(0) != fingerprint) return Answer{Answer::Kind::kMismatch};
          if (row.is_null(1)) return Answer{Answer::Kind::kInProgress};
          return Answer{Answer::Kind::kReplay, row.Blob(1)};
        });
  }

  asio::awaitable<Result<void>> Complete(IsolationKey owner, IdempotencyKey key,
                                         std::string reply) override {
    return database_.Transact(Access::kWrite, [=](Connection& connection) -> Result<void> {
      TRY_ASSIGN(const SqlResult completed,
                 connection.Run("UPDATE idempotency SET reply = $3 "
                                "WHERE owner = $1 AND id = $2 AND reply IS NULL",
                                {owner.str(), key.str(), Bytes{reply}}));
      if (completed.changed == 1) return {};
      return Error(ErrorCode::kFailedPrecondition, "nobody is at a request with this key");
    });
  }

  asio::awaitable<Result<void>> Abandon(IsolationKey owner, IdempotencyKey key) override {
    return database_.Transact(Access::kWrite, [=](Connection& connection) -> Result<void> {
      TRY(
          connection.Run("DELETE FROM idempotency "
                         "WHERE owner = $1 AND id = $2 AND reply IS NULL",
                         {owner.str(), key.str()}));
      return {};
    });
  }

 private:
  Database& database_;
};

}  // namespace

std::unique_ptr<IdempotencyStore> MakeSqlIdempotency(Database& database) {
  return std::make_unique<SqlIdempotency>(database);
}

}  // namespace caisson
