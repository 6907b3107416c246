#include <algorithm>
#include <string>
#include <utility>

#include "store/sql/sql_store.h"

namespace caisson {
namespace {

Error NoSuchCheckpoint() {
  return Error(ErrorCode::kNotFound, "no such checkpoint");
}

// Moves the head from `expected` to `next`. Returns the position of the new head; nullopt if the
// head is not `expected`.
Result<std::optional<std::int64_t>> MoveHead(Connection& connection, const IsolationKey& owner,
                                             const InstanceId& instance,
                                             const std::optional<CheckpointId>& expected,
                                             const Checkpoint& next) {
  const std::vector<SqlValue> names = {owner.str(), instance.str(), next.id.str(),
                                       ToSql(next.created_at)};
  if (!expected) {
    TRY_ASSIGN(const SqlResult made,
               connection.Run("INSERT INTO checkpoint_heads (owner, instance, head, position, "
                              "updated_at) VALUES ($1, $2, $3, 1, $4) "
                              "ON CONFLICT (owner, instance) DO NOTHING",
                              names));
    return made.changed == 1 ? std::optional<std::int64_t>(1) : std::nullopt;
  }
  std::vector<SqlValue> parameters = names;
  parameters.emplace_back(expected->str());
  TRY_ASSIGN(const SqlResult moved,
             connection.Run("UPDATE checkpoint_heads SET head = $3, position = position + 1, "
                            "updated_at = $4 WHERE owner = $1 AND instance = $2 AND head = $5 "
                            "RETURNING position",
                            parameters));
  return moved.rows.empty() ? std::nullopt : std::optional(moved.rows[0].Int(0));
}

class SqlCheckpoints final : public CheckpointStore {
 public:
  explicit SqlCheckpoints(Database& database) : database_(database) {}

  asio::awaitable<Result<void>> Append(IsolationKey owner, InstanceId instance,
                                       std::optional<CheckpointId> expected,
                                       Checkpoint checkpoint) override {
    return database_.Transact(Access::kWrite, [=](Connection& connection) -> Result<void> {
      TRY_ASSIGN(const std::optional<std::int64_t> position,
                 MoveHead(connection, owner, instance, expected, checkpoint));
      if (!position) {
        return Error(ErrorCode::kFailedPrecondition,
                     "the head of the workflow has changed; read it again");
      }
      TRY_ASSIGN(const SqlResult made,
                 connection.Run("INSERT INTO checkpoints (owner, instance, id, position, body, "
                                "created_at) VALUES ($1, $2, $3, $4, $5, $6) "
                                "ON CONFLICT DO NOTHING",
                                {owner.str(), instance.str(), checkpoint.id.str(), *position,
                                 BytesView{checkpoint.bytes}, ToSql(checkpoint.created_at)}));
      if (made.changed == 1) return {};
      return Error(ErrorCode::kFailedPrecondition, "a checkpoint with this id already exists");
    });
  }

  asio::awaitable<Result<Checkpoint>> Head(IsolationKey owner, InstanceId instance) override {
    return One(
        "SELECT c.id, c.body, c.created_at FROM checkpoint_heads h JOIN checkpoints c "
        "ON c.owner = h.owner AND c.instance = h.instance AND c.id = h.head "
        "WHERE h.owner = $1 AND h.instance = $2",
        {owner.str(), instance.str()});
  }

  asio::awaitable<Result<Checkpoint>> Find(IsolationKey owner, InstanceId instance,
                                           CheckpointId id) override {
    return One(
        "SELECT id, body, created_at FROM checkpoints "
        "WHERE owner = $1 AND instance = $2 AND id = $3",
        {owner.str(), instance.str(), id.str()});
  }

  asio::awaitable<Result<std::vector<CheckpointId>>> List(IsolationKey owner,
                                                          InstanceId instance) override {
    using Ids = std::vector<CheckpointId>;
    return database_.Transact<Ids>(Access::kRead, [=](Connection& connection) -> Result<Ids> {
      TRY_ASSIGN(const SqlResult found,
                 connection.Run("SELECT id FROM checkpoints WHERE owner = $1 AND instance = $2 "
                                "ORDER BY position",
                                {owner.str(), instance.str()}));
      Ids ids;
      for (const SqlRow& row : found.rows) ids.emplace_back(row.Text(0));
      return ids;
    });
  }

  asio::awaitable<Result<void>> Prune(IsolationKey owner, InstanceId instance,
                                      std::uint32_t keep) override {
    return database_.Transact(Access::kWrite, [=](Connection& connection) -> Result<void> {
      TRY(
          connection.Run("DELETE FROM checkpoints WHERE owner = $1 AND instance = $2 "
                         "AND position <= (SELECT position FROM checkpoint_heads "
                         "WHERE owner = $1 AND instance = $2) - $3",
                         {owner.str(), instance.str(), std::int64_t{std::max(keep, 1U)}}));
      return {};
    });
  }

 private:
  asio::awaitable<Result<Checkpoint>> One(std::string_view sql, std::vector<SqlValue> parameters) {
    return database_.Transact<Checkpoint>(
        Access::kRead, [=](Connection& connection) -> Result<Checkpoint> {
          TRY_ASSIGN(const SqlResult found, connection.Run(sql, parameters));
          if (found.rows.empty()) return NoSuchCheckpoint();
          const SqlRow& row = found.rows[0];
          return Checkpoint{CheckpointId(row.Text(0)), row.Blob(1), row.Time(2)};
        });
  }

  Database& database_;
};

}  // namespace

std::unique_ptr<CheckpointStore> MakeSqlCheckpoints(Database& database) {
  return std::make_unique<SqlCheckpoints>(database);
}

}  // namespace caisson
