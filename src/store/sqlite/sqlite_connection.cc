#include "store/sqlite/sqlite_connection.h"

#include <fcntl.h>
#include <sqlite3.h>

#include <cerrno>

#include "base/unique_fd.h"

namespace caisson {
namespace {

// Creates the file with mode 0600. SQLite would use the umask. Files that it adds later (WAL,
// shared memory) get the mode of this file.
Result<void> CreatePrivately(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.is_open()) return Error::FromErrno(errno, "open " + path);
  return {};
}

void BindBytes(sqlite3_stmt* statement, int index, std::string_view bytes) {
  // A null pointer would bind NULL instead of empty bytes.
  sqlite3_bind_blob64(statement, index, bytes.empty() ? "" : bytes.data(), bytes.size(),
                      SQLITE_STATIC);
}

void Bind(sqlite3_stmt* statement, int index, const SqlValue& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) {
    sqlite3_bind_int64(statement, index, *number);
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    sqlite3_bind_text64(statement, index, text->data(), text->size(), SQLITE_STATIC, SQLITE_UTF8);
  } else if (const auto* bytes = std::get_if<Bytes>(&value)) {
    BindBytes(statement, index, bytes->data);
  } else if (const auto* view = std::get_if<BytesView>(&value)) {
    BindBytes(statement, index, view->data);
  } else {
    sqlite3_bind_null(statement, index);
  }
}

SqlValue Column(sqlite3_stmt* statement, int index) {
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement, index));
  switch (sqlite3_column_type(statement, index)) {
    case SQLITE_INTEGER:
      return sqlite3_column_int64(statement, index);
    case SQLITE_TEXT:
      return std::string(reinterpret_cast<const char*>(sqlite3_column_text(statement, index)),
                         size);
    case SQLITE_BLOB: {
      const auto* const data = static_cast<const char*>(sqlite3_column_blob(statement, index));
      return Bytes{data == nullptr ? std::string() : std::string(data, size)};
    }
    default:
      return {};
  }
}

}  // namespace

void SqliteConnection::Close::operator()(sqlite3* database) const {
  sqlite3_close(database);
}
void SqliteConnection::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

Result<std::unique_ptr<SqliteConnection>> SqliteConnection::Open(
    const std::string& path, Access access, std::chrono::milliseconds busy_timeout) {
  const bool in_memory = path == ":memory:";
  if (!in_memory && access == Access::kWrite) TRY(CreatePrivately(path));
  sqlite3* raw = nullptr;
  const int opened =
      sqlite3_open_v2(path.c_str(), &raw,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW, nullptr);
  std::unique_ptr<SqliteConnection> connection(new SqliteConnection(raw));
  if (opened != SQLITE_OK) return connection->Failed(opened).Context("open " + path);
  sqlite3_busy_timeout(raw, static_cast<int>(busy_timeout.count()));
  if (!in_memory) TRY(connection->Run("PRAGMA journal_mode = WAL"));
  // FULL: a commit is on the disk before it is acknowledged. The journal must not lose rows (I6).
  for (const std::string_view setting :
       {"PRAGMA synchronous = FULL", "PRAGMA trusted_schema = OFF", "PRAGMA foreign_keys = ON"}) {
    TRY(connection->Execute(setting));
  }
  if (access == Access::kRead) TRY(connection->Execute("PRAGMA query_only = ON"));
  return connection;
}

const Dialect& SqliteConnection::dialect() const {
  static constexpr Dialect kDialect{.text_type = "TEXT", .bytes_type = "BLOB", .schema_lock = ""};
  return kDialect;
}

Result<void> SqliteConnection::Begin(Access access) {
  // A writer locks at once. If it read first and another one wrote meanwhile, it could only fail.
  return Execute(access == Access::kWrite ? "BEGIN IMMEDIATE" : "BEGIN");
}

Result<void> SqliteConnection::Commit() {
  return Execute("COMMIT");
}

void SqliteConnection::Rollback() {
  // Some errors have rolled back already.
  if (sqlite3_get_autocommit(database_.get()) != 0) return;
  const Failure failure = failure_;
  static_cast<void>(Execute("ROLLBACK").has_value());
  failure_ = failure;
}

Result<void> SqliteConnection::Execute(std::string_view sql) {
  TRY(Run(sql));
  return {};
}

Result<SqlResult> SqliteConnection::Run(std::string_view sql, std::vector<SqlValue> parameters) {
  failure_ = Failure::kFinal;
  TRY(CheckParameters(parameters));
  TRY_ASSIGN(sqlite3_stmt * statement, Prepared(sql));
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::string name = "$" + std::to_string(i + 1);
    const int index = sqlite3_bind_parameter_index(statement, name.c_str());
    if (index > 0) Bind(statement, index, parameters[i]);
  }
  Result<SqlResult> result = Step(statement);
  sqlite3_reset(statement);
  sqlite3_clear_bindings(statement);
  return result;
}

Result<sqlite3_stmt*> SqliteConnection::Prepared(std::string_view sql) {
  if (const auto found = statements_.find(sql); found != statements_.end()) {
    return found->second.get();
  }
  sqlite3_stmt* raw = nullptr;
  const int code = sqlite3_prepare_v3(database_.get(), sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &raw, nullptr);
  if (code != SQLITE_OK) return Failed(code);
  return statements_.emplace(sql, Statement(raw)).first->second.get();
}

Result<SqlResult> SqliteConnection::Step(sqlite3_stmt* statement) {
  SqlResult result;
  const std::int64_t before = sqlite3_total_changes64(database_.get());
  int code = sqlite3_step(statement);
  for (; code == SQLITE_ROW; code = sqlite3_step(statement)) {
    std::vector<SqlValue> columns;
    for (int i = 0; i < sqlite3_column_count(statement); ++i) {
      columns.push_back(Column(statement, i));
    }
    result.rows.emplace_back(std::move(columns));
  }
  if (code != SQLITE_DONE) return Failed(code);
  result.changed = sqlite3_total_changes64(database_.get()) - before;
  return result;
}

Error SqliteConnection::Failed(int code) {
  const std::string message = "SQLite: " + std::string(sqlite3_errmsg(database_.get()));
  switch (code & 0xff) {
    case SQLITE_FULL:
      return Error(ErrorCode::kNoSpace,
                   message + ". Make room on the disk that holds the database");
    case SQLITE_TOOBIG:
      return Error(ErrorCode::kResourceExhausted, message);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_NOMEM:
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR:
    case SQLITE_READONLY:
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return Error(ErrorCode::kUnavailable, message);
    default:
      return Error(ErrorCode::kInternal, message);
  }
}

}  // namespace caisson
