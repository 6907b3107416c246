#include <string>
#include <utility>

#include "store/sql/sql_store.h"

namespace caisson {
namespace {

class SqlDocuments final : public DocumentStore {
 public:
  SqlDocuments(Database& database, std::string collection)
      : database_(database), collection_(std::move(collection)) {}

  asio::awaitable<Result<Document>> Find(IsolationKey owner, DocumentId id) override {
    return database_.Transact<Document>(
        Access::kRead, [=, this](Connection& connection) -> Result<Document> {
          TRY_ASSIGN(const SqlResult found,
                     connection.Run("SELECT body, version, updated_at FROM documents "
                                    "WHERE owner = $1 AND collection = $2 AND id = $3",
                                    {owner.str(), collection_, id.str()}));
          if (found.rows.empty()) return NoSuch();
          const SqlRow& row = found.rows[0];
          return Document{row.Blob(0), row.Int(1), row.Time(2)};
        });
  }

  asio::awaitable<Result<std::int64_t>> Save(IsolationKey owner, DocumentId id,
                                             std::int64_t expected, std::string body,
                                             SystemTime now) override {
    return database_.Transact<std::int64_t>(
        Access::kWrite, [=, this](Connection& connection) -> Result<std::int64_t> {
          std::vector<SqlValue> parameters = {owner.str(), collection_, id.str(), BytesView{body},
                                              ToSql(now)};
          std::string_view sql =
              "INSERT INTO documents (owner, collection, id, version, body, updated_at) "
              "VALUES ($1, $2, $3, 1, $4, $5) ON CONFLICT (owner, collection, id) DO NOTHING";
          if (expected != 0) {
            sql =
                "UPDATE documents SET version = version + 1, body = $4, updated_at = $5 "
                "WHERE owner = $1 AND collection = $2 AND id = $3 AND version = $6";
            parameters.emplace_back(expected);
          }
          TRY_ASSIGN(const SqlResult saved, connection.Run(sql, std::move(parameters)));
          if (saved.changed == 1) return expected + 1;
          return Error(ErrorCode::kFailedPrecondition,
                       "the " + collection_ + " was changed by another request; read it again");
        });
  }

  asio::awaitable<Result<void>> Remove(IsolationKey owner, DocumentId id) override {
    return database_.Transact(Access::kWrite, [=, this](Connection& connection) -> Result<void> {
      TRY_ASSIGN(const SqlResult removed,
                 connection.Run("DELETE FROM documents "
                                "WHERE owner = $1 AND collection = $2 AND id = $3",
                                {owner.str(), collection_, id.str()}));
      return removed.changed == 1 ? Result<void>() : NoSuch();
    });
  }

 private:
  Error NoSuch() const { return Error(ErrorCode::kNotFound, "no such " + collection_); }

  Database& database_;
  const std::string collection_;
};

}  // namespace

std::unique_ptr<DocumentStore> MakeSqlDocuments(Database& database, std::string collection) {
  return std::make_unique<SqlDocuments>(database, std::move(collection));
}

}  // namespace caisson
