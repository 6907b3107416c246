#include <algorithm>
#include <string>
#include <utility>

#include "store/sql/sql_store.h"

namespace caisson {
namespace {

Error NoSuchResponse() {
  return Error(ErrorCode::kNotFound, "no such response");
}
Error NoSuchConversation() {
  return Error(ErrorCode::kNotFound, "no such conversation");
}
Error Changed(std::string_view what) {
  return Error(ErrorCode::kFailedPrecondition,
               "the " + std::string(what) + " was changed by another request; read it again");
}

StoredResponse ToResponse(const SqlRow& row) {
  StoredResponse response{.id = ResponseId(row.Text(0)),
                          .body = row.Blob(2),
                          .version = row.Int(3),
                          .created_at = row.Time(4)};
  if (!row.is_null(1)) response.previous = ResponseId(row.Text(1));
  return response;
}

class SqlResponses final : public ResponseStore {
 public:
  explicit SqlResponses(Database& database) : database_(database) {}

  asio::awaitable<Result<void>> Create(IsolationKey owner, StoredResponse response) override {
    return database_.Transact(Access::kWrite, [=](Connection& connection) -> Result<void> {
      const SqlValue previous = response.previous ? SqlValue(response.previous->str()) : SqlValue();
      TRY_ASSIGN(const SqlResult made,
                 connection.Run("INSERT INTO responses (owner, id, previous, version, body, "
                                "created_at, updated_at) VALUES ($1, $2, $3, 1, $4, $5, $5) "
                                "ON CONFLICT (owner, id) DO NOTHING",
                                {owner.str(), response.id.str(), previous, BytesView{response.body},
                                 ToSql(response.created_at)}));
      if (made.changed == 1) return {};
      return Error(ErrorCode::kFailedPrecondition, "a response with this id already exists");
    });
  }

  asio::awaitable<Result<StoredResponse>> Find(IsolationKey owner, ResponseId id) override {
    return database_.Transact<StoredResponse>(
        Access::kRead, [=](Connection& connection) -> Result<StoredResponse> {
          TRY_ASSIGN(const SqlResult found,
                     connection.Run("SELECT id, previous, body, version, created_at "
                                    "FROM responses WHERE owner = $1 AND id = $2",
                                    {owner.str(), id.str()}));
          if (found.rows.empty()) return NoSuchResponse();
          return ToResponse(found.rows[0]);
        });
  }

  asio::awaitable<Result<std::int64_t>> Replace(IsolationKey owner, ResponseId id,
                                                std::int64_t expected, std::string body,
                                                SystemTime now) override {
    return database_.Transact<std::int64_t>(
        Access::kWrite, [=](Connection& connection) -> Result<std::int64_t> {
          TRY_ASSIGN(
              const SqlResult replaced,
              connection.Run("UPDATE responses SET version = version + 1, body = $4, "
                             "updated_at = $5 WHERE owner = $1 AND id = $2 "
                             "AND version = $3",
                             {owner.str(), id.str(), expected, BytesView{body}, ToSql(now)}));
          if (replaced.changed == 1) return expected + 1;
          TRY_ASSIGN(const SqlResult found,
                     connection.Run("SELECT 1 FROM responses WHERE owner = $1 AND id = $2",
                                    {owner.str(), id.str()}));
          return found.rows.empty() ? NoSuchResponse() : Changed("response");
        });
  }

  asio::awaitable<Result<void>> Remove(IsolationKey owner, ResponseId id) override {
    return database_.Transact(Access::kWrite, [=](Connection& connection) -> Result<void> {
      TRY_ASSIGN(const SqlResult removed,
                 connection.Run("DELETE FROM responses WHERE owner = $1 AND id = $2",
                                {owner.str(), id.str()}));
      for (const std::string_view table : {"response_events", "response_leases"}) {
        TRY(connection.Run(
            "DELETE FROM " + std::string(table) + " WHERE owner = $1 AND response = $2",
            {owner.str(), id.str()}));
      }
      return removed.changed == 1 ? Result<void>() : NoSuchResponse();
    });
  }

  asio::awaitable<Result<std::vector<StoredResponse>>> Chain(IsolationKey owner, ResponseId id,
                                                             std::uint32_t limit) override {
    using Found = std::vector<StoredResponse>;
    return database_.Transact<Found>(Access::kRead, [=](Connection& connection) -> Result<Found> {
      // Bounded by depth, because a chain may contain a cycle.
      TRY_ASSIGN(
          const SqlResult found,
          connection.Run(
              "WITH RECURSIVE chain (id, previous, body, version, created_at, depth) AS ("
              "SELECT id, previous, body, version, created_at, CAST(1 AS BIGINT) FROM responses "
              "WHERE owner = $1 AND id = $2 UNION ALL "
              "SELECT r.id, r.previous, r.body, r.version, r.created_at, c.depth + 1 "
              "FROM chain c JOIN responses r ON r.owner = $1 AND r.id = c.previous "
              "WHERE c.depth < $3) "
              "SELECT id, previous, body, version, created_at FROM chain ORDER BY depth",
              {owner.str(), id.str(), std::int64_t{limit}}));
      if (found.rows.empty()) return NoSuchResponse();
      Found chain;
      for (const SqlRow& row : found.rows) chain.push_back(ToResponse(row));
      return chain;
    });
  }

  asio::awaitable<Result<void>> CreateConversation(IsolationKey owner,
                                                   StoredConversation conversation) override {
    return database_.Transact(Access::kWrite, [=](Connection& connection) -> Result<void> {
      TRY_ASSIGN(const SqlResult made,
                 connection.Run("INSERT INTO conversations (owner, id, body, length, created_at, "
                                "updated_at) VALUES ($1, $2, $3, 0, $4, $4) "
                                "ON CONFLICT (owner, id) DO NOTHING",
                                {owner.str(), conversation.id.str(), BytesView{conversation.body},
                                 ToSql(conversation.created_at)}));
      if (made.changed == 1) return {};
      return Error(ErrorCode::kFailedPrecondition, "a conversation with this id already exists");
    });
  }

  asio::awaitable<Result<StoredConversation>> FindConversation(IsolationKey owner,
                                                               ConversationId id) override {
    return database_.Transact<StoredConversation>(
        Access::kRead, [=](Connection& connection) -> Result<StoredConversation> {
          TRY_ASSIGN(const SqlResult found,
                     connection.Run("SELECT id, body, length, created_at FROM conversations "
                                    "WHERE owner = $1 AND id = $2",
                                    {owner.str(), id.str()}));
          if (found.rows.empty()) return NoSuchConversation();
          const SqlRow& row = found.rows[0];
          return StoredConversation{ConversationId(row.Text(0)), row.Blob(1), row.Int(2),
                                    row.Time(3)};
        });
  }

  asio::awaitable<Result<std::int64_t>> AppendItems(IsolationKey owner, ConversationId id,
                                                    std::int64_t expected,
                                                    std::vector<std::string> items,
                                                    SystemTime now) override {
    return database_.Transact<std::int64_t>(
        Access::kWrite, [=](Connection& connection) -> Result<std::int64_t> {
          const std::int64_t length = expected + static_cast<std::int64_t>(items.size());
          TRY_ASSIGN(const SqlResult grown,
                     connection.Run("UPDATE conversations SET length = $4, updated_at = $5 "
                                    "WHERE owner = $1 AND id = $2 AND length = $3",
                                    {owner.str(), id.str(), expected, length, ToSql(now)}));
          if (grown.changed != 1) {
            TRY_ASSIGN(const SqlResult found,
                       connection.Run("SELECT 1 FROM conversations WHERE owner = $1 AND id = $2",
                                      {owner.str(), id.str()}));
            return found.rows.empty() ? NoSuchConversation() : Changed("conversation");
          }
          std::int64_t position = expected;
          for (const std::string& item : items) {
            TRY(
                connection.Run("INSERT INTO conversation_items (owner, conversation, position, "
                               "body) VALUES ($1, $2, $3, $4)",
                               {owner.str(), id.str(), position++, BytesView{item}}));
          }
          return length;
        });
  }

  asio::awaitable<Result<std::vector<std::string>>> Items(IsolationKey owner, ConversationId id,
                                                          std::int64_t start,
                                                          std::uint32_t limit) override {
    using Found = std::vector<std::string>;
    return database_.Transact<Found>(Access::kRead, [=](Connection& connection) -> Result<Found> {
      TRY_ASSIGN(const SqlResult known,
                 connection.Run("SELECT 1 FROM conversations WHERE owner = $1 AND id = $2",
                                {owner.str(), id.str()}));
      if (known.rows.empty()) return NoSuchConversation();
      TRY_ASSIGN(const SqlResult found,
                 connection.Run("SELECT body FROM conversation_items WHERE owner = $1 "
                                "AND conversation = $2 AND position >= $3 "
                                "ORDER BY position LIMIT $4",
                                {owner.str(), id.str(), start, std::int64_t{limit}}));
      Found items;
      for (const SqlRow& row : found.rows) items.push_back(row.Blob(0));
      return items;
    });
  }

  asio::awaitable<Result<void>> RemoveConversation(IsolationKey owner, ConversationId id) override {
    return database_.Transact(Access::kWrite, [=](Connection& connection) -> Result<void> {
      TRY_ASSIGN(const SqlResult removed,
                 connection.Run("DELETE FROM conversations WHERE owner = $1 AND id = $2",
                                {owner.str(), id.str()}));
      if (removed.changed != 1) return NoSuchConversation();
      for (const std::string_view table : {"conversation_items", "conversation_turns"}) {
        TRY(connection.Run(
            "DELETE FROM " + std::string(table) + " WHERE owner = $1 AND conversation = $2",
            {owner.str(), id.str()}));
      }
      return {};
    });
  }

 private:
  Database& database_;
};

}  // namespace

std::unique_ptr<ResponseStore> MakeSqlResponses(Database& database) {
  return std::make_unique<SqlResponses>(database);
}

}  // namespace caisson
