#include <string>
#include <utility>

#include "store/sql/sql_store.h"

namespace caisson {
namespace {

Error LeaseLost() {
  return Error(ErrorCode::kFailedPrecondition, "the turn is no longer held under this lease");
}

// Writing the row locks it to the end of the transaction, so no claim can come in between.
Result<void> CheckLease(Connection& connection, const IsolationKey& owner, const ResponseId& id,
                        const Lease& lease) {
  TRY_ASSIGN(const SqlResult held,
             connection.Run("UPDATE response_leases SET attempts = 0 WHERE owner = $1 "
                            "AND response = $2 AND fence = $3 AND holder = $4",
                            {owner.str(), id.str(), lease.fence, lease.holder}));
  if (held.changed == 1) return {};
  return LeaseLost();
}

Result<void> AddEvents(Connection& connection, const IsolationKey& owner, const ResponseId& id,
                       const NewEvents& events) {
  auto number = static_cast<std::int64_t>(events.first);
  for (const std::string& body : events.bodies) {
    // A repeated operation writes the same again.
    TRY(
        connection.Run("INSERT INTO response_events (owner, response, number, body) "
                       "VALUES ($1, $2, $3, $4) ON CONFLICT (owner, response, number) DO NOTHING",
                       {owner.str(), id.str(), number++, Bytes{body}}));
  }
  return {};
}

Result<void> SetBody(Connection& connection, const IsolationKey& owner, const ResponseId& id,
                     const std::string& body, SystemTime now) {
  TRY(
      connection.Run("UPDATE responses SET version = version + 1, body = $3, updated_at = $4 "
                     "WHERE owner = $1 AND id = $2",
                     {owner.str(), id.str(), Bytes{body}, ToSql(now)}));
  return {};
}

class SqlTurns final : public TurnStore {
 public:
  explicit SqlTurns(Database& database) : database_(database) {}

  asio::awaitable<Result<Lease>> Begin(IsolationKey owner, StoredResponse response,
                                       LeaseTerm term) override {
    return database_.Transact<Lease>(Access::kWrite, [=](Connection& connection) -> Result<Lease> {
      const SqlValue previous = response.previous ? SqlValue(response.previous->str()) : SqlValue();
      TRY_ASSIGN(const SqlResult made,
                 connection.Run("INSERT INTO responses (owner, id, previous, version, body, "
                                "created_at, updated_at) VALUES ($1, $2, $3, 1, $4, $5, $5) "
                                "ON CONFLICT (owner, id) DO NOTHING",
                                {owner.str(), response.id.str(), previous, Bytes{response.body},
                                 ToSql(response.created_at)}));
      if (made.changed != 1) {
        return Error(ErrorCode::kFailedPrecondition, "a response with this id already exists");
      }
      TRY(
          connection.Run("INSERT INTO response_leases (owner, response, holder, fence, "
                         "lease_until, attempts) VALUES ($1, $2, $3, 1, $4, 0)",
                         {owner.str(), response.id.str(), term.holder, ToSql(term.until)}));
      return Lease{term.holder, 1};
    });
  }

  asio::awaitable<Result<ClaimedTurn>> Claim(IsolationKey owner, ResponseId id,
                                             LeaseTerm term) override {
    return database_.Transact<ClaimedTurn>(
        Access::kWrite, [=](Connection& connection) -> Result<ClaimedTurn> {
          TRY_ASSIGN(const SqlResult claimed,
                     connection.Run(
                         "UPDATE response_leases SET fence = fence + 1, holder = $3, "
                         "lease_until = $4, attempts = attempts + 1 "
                         "WHERE owner = $1 AND response = $2 AND lease_until <= $5 "
                         "RETURNING fence, attempts",
                         {owner.str(), id.str(), term.holder, ToSql(term.until), ToSql(term.now)}));
          if (claimed.rows.empty()) {
            return Error(ErrorCode::kFailedPrecondition,
                         "the turn has ended or is held by another replica");
          }
          const SqlRow& row = claimed.rows[0];
          return ClaimedTurn{.lease = {term.holder, row.Int(0)}, .attempts = row.Int(1)};
        });
  }

  asio::awaitable<Result<void>> Release(IsolationKey owner, ResponseId id, Lease lease) override {
    return database_.Transact(Access::kWrite, [=](Connection& connection) -> Result<void> {
      TRY(
          connection.Run("UPDATE response_leases SET lease_until = 0 WHERE owner = $1 "
                         "AND response = $2 AND fence = $3 AND holder = $4",
                         {owner.str(), id.str(), lease.fence, lease.holder}));
      return {};
    });
  }

  asio::awaitable<Result<void>> Replace(IsolationKey owner, ResponseId id, Lease lease,
                                        std::string body, SystemTime now) override {
    return database_.Transact(Access::kWrite, [=](Connection& connection) -> Result<void> {
      TRY(CheckLease(connection, owner, id, lease));
      return SetBody(connection, owner, id, body, now);
    });
  }

  asio::awaitable<Result<void>> Append(IsolationKey owner, ResponseId id, Lease lease,
                                       NewEvents events) override {
    return database_.Transact(Access::kWrite, [=](Connection& connection) -> Result<void> {
      TRY(CheckLease(connection, owner, id, lease));
      return AddEvents(connection, owner, id, events);
    });
  }

  asio::awaitable<Result<void>> End(IsolationKey owner, ResponseId id, Lease lease,
                                    std::string body, NewEvents events, SystemTime now) override {
    return database_.Transact(Access::kWrite, [=](Connection& connection) -> Result<void> {
      TRY(CheckLease(connection, owner, id, lease));
      TRY(AddEvents(connection, owner, id, events));
      TRY(SetBody(connection, owner, id, body, now));
      TRY(connection.Run("DELETE FROM response_leases WHERE owner = $1 AND response = $2",
                         {owner.str(), id.str()}));
      return {};
    });
  }

  asio::awaitable<Result<void>> AskToCancel(IsolationKey owner, ResponseId id,
                                            SystemTime now) override {
    return database_.Transact(Access::kWrite, [=](Connection& connection) -> Result<void> {
      TRY(
          connection.Run("UPDATE response_leases SET cancel_asked_at = $3 "
                         "WHERE owner = $1 AND response = $2 AND cancel_asked_at IS NULL",
                         {owner.str(), id.str(), ToSql(now)}));
      return {};
    });
  }

  asio::awaitable<Result<std::vector<std::string>>> Events(IsolationKey owner, ResponseId id,
                                                           std::uint64_t from,
                                                           std::uint32_t limit) override {
    using Found = std::vector<std::string>;
    return database_.Transact<Found>(Access::kRead, [=](Connection& connection) -> Result<Found> {
      TRY_ASSIGN(const SqlResult found,
                 connection.Run("SELECT body FROM response_events WHERE owner = $1 "
                                "AND response = $2 AND number >= $3 ORDER BY number LIMIT $4",
                                {owner.str(), id.str(), static_cast<std::int64_t>(from),
                                 std::int64_t{limit}}));
      Found events;
      for (const SqlRow& row : found.rows) events.push_back(row.Blob(0));
      return events;
    });
  }

  asio::awaitable<Result<void>> EnterConversation(IsolationKey owner, ConversationId id,
                                                  ResponseId turn, LeaseTerm term) override {
    return database_.Transact(Access::kWrite, [=](Connection& connection) -> Result<void> {
      TRY_ASSIGN(const SqlResult known,
                 connection.Run("SELECT 1 FROM conversations WHERE owner = $1 AND id = $2",
                                {owner.str(), id.str()}));
      if (known.rows.empty()) return Error(ErrorCode::kNotFound, "no such conversation");
      TRY_ASSIGN(
          const SqlResult entered,
          connection.Run("INSERT INTO conversation_turns (owner, conversation, response, holder, "
                         "lease_until) VALUES ($1, $2, $3, $4, $5) "
                         "ON CONFLICT (owner, conversation) DO UPDATE SET response = $3, "
                         "holder = $4, lease_until = $5 WHERE conversation_turns.lease_until <= $6 "
                         "OR conversation_turns.response = $3",
                         {owner.str(), id.str(), turn.str(), term.holder, ToSql(term.until),
                          ToSql(term.now)}));
      if (entered.changed == 1) return {};
      return Error(ErrorCode::kFailedPrecondition,
                   "another turn of this conversation is under way; wait for it or cancel it");
    });
  }

  asio::awaitable<Result<void>> LeaveConversation(IsolationKey owner, ConversationId id,
                                                  ResponseId turn) override {
    return database_.Transact(Access::kWrite, [=](Connection& connection) -> Result<void> {
      TRY(
          connection.Run("DELETE FROM conversation_turns WHERE owner = $1 AND conversation = $2 "
                         "AND response = $3",
                         {owner.str(), id.str(), turn.str()}));
      return {};
    });
  }

 private:
  Database& database_;
};

}  // namespace

std::unique_ptr<TurnStore> MakeSqlTurns(Database& database) {
  return std::make_unique<SqlTurns>(database);
}

}  // namespace caisson
