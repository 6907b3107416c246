#include "store/postgres/postgres_connection.h"

#include <libpq-fe.h>

#include <array>
#include <charconv>
#include <utility>

namespace caisson {
namespace {

// Type numbers of pg_type; they never change.
constexpr Oid kBytea = 17;
constexpr Oid kInt8 = 20;
constexpr Oid kInt4 = 23;
constexpr Oid kText = 25;

// The parameters of one statement as the four arrays that libpq needs.
class Parameters {
 public:
  explicit Parameters(const std::vector<SqlValue>& values) : numbers_(values.size()) {
    for (std::size_t i = 0; i < values.size(); ++i) Add(values[i], numbers_[i]);
  }
  int count() const { return static_cast<int>(values_.size()); }
  const Oid* types() const { return types_.data(); }
  const char* const* values() const { return values_.data(); }
  const int* lengths() const { return lengths_.data(); }
  const int* formats() const { return formats_.data(); }

 private:
  void Add(const SqlValue& value, std::array<char, 24>& number) {
    if (const auto* n = std::get_if<std::int64_t>(&value)) {
      *std::to_chars(number.data(), number.data() + number.size() - 1, *n).ptr = '\0';
      Push(kInt8, number.data(), 0, 0);
    } else if (const auto* text = std::get_if<std::string>(&value)) {
      Push(kText, text->c_str(), 0, 0);
    } else if (const auto* bytes = std::get_if<Bytes>(&value)) {
      PushBytes(bytes->data);
    } else if (const auto* view = std::get_if<BytesView>(&value)) {
      PushBytes(view->data);
    } else {
      Push(0, nullptr, 0, 0);
    }
  }
  // A null pointer would be NULL instead of empty bytes.
  void PushBytes(std::string_view bytes) {
    Push(kBytea, bytes.empty() ? "" : bytes.data(), static_cast<int>(bytes.size()), 1);
  }
  void Push(Oid type, const char* value, int length, int format) {
    types_.push_back(type);
    values_.push_back(value);
    lengths_.push_back(length);
    formats_.push_back(format);
  }

  std::vector<std::array<char, 24>> numbers_;
  std::vector<Oid> types_;
  std::vector<const char*> values_;
  std::vector<int> lengths_;
  std::vector<int> formats_;
};

std::int64_t BigEndian(std::string_view bytes) {
  std::uint64_t number = 0;
  for (const char c : bytes) number = (number << 8) | static_cast<unsigned char>(c);
  return static_cast<std::int64_t>(number);
}

SqlValue Column(const PGresult* result, int row, int column) {
  if (PQgetisnull(result, row, column) != 0) return {};
  std::string bytes(PQgetvalue(result, row, column),
                    static_cast<std::size_t>(PQgetlength(result, row, column)));
  switch (PQftype(result, column)) {
    case kInt8:
    case kInt4:  // Constants in statements; never negative.
      return BigEndian(bytes);
    case kBytea:
      return Bytes{std::move(bytes)};
    default:
      return bytes;
  }
}

std::int64_t ChangedRows(PGresult* result) {
  const std::string_view text = PQcmdTuples(result);
  std::int64_t changed = 0;
  std::from_chars(text.data(), text.data() + text.size(), changed);
  return changed;
}

}  // namespace

void PostgresConnection::Finish::operator()(pg_conn* connection) const {
  PQfinish(connection);
}
void PostgresConnection::Clear::operator()(pg_result* result) const {
  PQclear(result);
}

const Dialect& PostgresConnection::dialect() const {
  // Replicas that start together upgrade one after the other. The number is "caisson" in ASCII.
  static constexpr Dialect kDialect{
      .text_type = "TEXT COLLATE \"C\"",
      .bytes_type = "BYTEA",
      .schema_lock = "SELECT CAST(pg_advisory_xact_lock(27973474158833518) AS TEXT)"};
  return kDialect;
}

Result<void> PostgresConnection::Connect() {
  // Settings in the URL come last and take precedence.
  constexpr std::array<const char*, 7> kNames = {"connect_timeout",
                                                 "tcp_user_timeout",
                                                 "keepalives_idle",
                                                 "application_name",
                                                 "client_encoding",
                                                 "dbname",
                                                 nullptr};
  const std::array<const char*, 7> values = {"5",    "10000",      "30",   "caisson",
                                             "UTF8", url_.c_str(), nullptr};
  connection_.reset(PQconnectdbParams(kNames.data(), values.data(), /*expand_dbname=*/1));
  if (PQstatus(connection_.get()) != CONNECTION_OK) {
    failure_ = Failure::kLost;
    return Error(ErrorCode::kUnavailable,
                 "PostgreSQL: " + std::string(PQerrorMessage(connection_.get())));
  }
  // A commit is on the server's disk before it is acknowledged (I6), and every wait ends. A replica
  // that is stopped in the middle of a transaction loses it, and its locks, before others have
  // waited for them longer than a lease.
  for (const std::string_view setting :
       {"SET synchronous_commit = on", "SET statement_timeout = '30s'", "SET lock_timeout = '10s'",
        "SET idle_in_transaction_session_timeout = '3s'", "SET client_min_messages = warning"}) {
    TRY(Execute(setting));
  }
  return {};
}

Result<void> PostgresConnection::Begin(Access access) {
  failure_ = Failure::kFinal;
  if (!connection_ || PQstatus(connection_.get()) != CONNECTION_OK) TRY(Connect());
  return Execute(access == Access::kWrite ? "BEGIN" : "BEGIN READ ONLY");
}

Result<void> PostgresConnection::Commit() {
  return Execute("COMMIT");
}

void PostgresConnection::Rollback() {
  if (PQtransactionStatus(connection_.get()) == PQTRANS_IDLE) return;
  const Failure failure = failure_;
  static_cast<void>(Execute("ROLLBACK").has_value());
  failure_ = failure;
}

Result<void> PostgresConnection::Execute(std::string_view sql) {
  TRY(Run(sql));
  return {};
}

Result<SqlResult> PostgresConnection::Run(std::string_view sql, std::vector<SqlValue> values) {
  failure_ = Failure::kFinal;
  TRY(CheckParameters(values));
  const Parameters parameters(values);
  const std::unique_ptr<pg_result, Clear> result(PQexecParams(
      connection_.get(), std::string(sql).c_str(), parameters.count(), parameters.types(),
      parameters.values(), parameters.lengths(), parameters.formats(), /*resultFormat=*/1));
  const ExecStatusType status = PQresultStatus(result.get());
  if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) return Failed(result.get());
  SqlResult out;
  out.changed = ChangedRows(result.get());
  for (int row = 0; row < PQntuples(result.get()); ++row) {
    std::vector<SqlValue> columns;
    for (int column = 0; column < PQnfields(result.get()); ++column) {
      columns.push_back(Column(result.get(), row, column));
    }
    out.rows.emplace_back(std::move(columns));
  }
  return out;
}

Error PostgresConnection::Failed(pg_result* result) {
  const std::string message = "PostgreSQL: " + std::string(PQerrorMessage(connection_.get()));
  if (PQstatus(connection_.get()) != CONNECTION_OK) {
    failure_ = Failure::kLost;
    return Error(ErrorCode::kUnavailable, message);
  }
  const char* const raw = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  if (raw == nullptr) {
    // An error of libpq itself. PQstatus can still be CONNECTION_OK: the server warned and closed
    // the connection, and the statement could not be sent.
    connection_.reset();
    failure_ = Failure::kLost;
    return Error(ErrorCode::kUnavailable, message);
  }
  const std::string_view state = raw;
  if (state.starts_with("40")) {  // Serialization failure, deadlock.
    failure_ = Failure::kConflict;
    return Error(ErrorCode::kUnavailable, message);
  }
  if (state == "53100") {
    return Error(ErrorCode::kNoSpace, message + ". Make room on the disk of the database server");
  }
  // Out of memory or connections, locked, interrupted, shutting down, I/O error, a read-only
  // standby.
  for (const std::string_view kind : {"53", "55", "57", "58", "25006"}) {
    if (state.starts_with(kind)) return Error(ErrorCode::kUnavailable, message);
  }
  return Error(ErrorCode::kInternal, message);
}

}  // namespace caisson
