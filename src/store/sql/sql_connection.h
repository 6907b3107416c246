// A Connection is one connection to a database.
//
// Statements use the SQL that SQLite and PostgreSQL share, with parameters $1, $2, ...; columns are
// BIGINT, text and bytes only.
//
// Trust     Parameters may be hostile; they are never part of a statement's text. Text that
//           PostgreSQL cannot hold (NUL, invalid UTF-8) is refused by every backend.
// Threads   One at a time; calls block.
// Lifetime  Reconnects by itself, between transactions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "wire/value.h"

namespace caisson {

// Bytes that the caller of Run() keeps: large parameters are not copied. Never in a result.
struct BytesView {
  std::string_view data;
};

// Null, BIGINT, text or bytes.
using SqlValue = std::variant<std::monostate, std::int64_t, std::string, Bytes, BytesView>;

// Precondition of all: the column has that type (and is not null, except for the optional ones).
class SqlRow {
 public:
  explicit SqlRow(std::vector<SqlValue> columns) : columns_(std::move(columns)) {}
  bool is_null(std::size_t i) const { return columns_[i].index() == 0; }
  std::int64_t Int(std::size_t i) const { return std::get<std::int64_t>(columns_[i]); }
  const std::string& Text(std::size_t i) const { return std::get<std::string>(columns_[i]); }
  std::string Blob(std::size_t i) const;  // Empty if null.
  std::optional<std::string> OptionalText(std::size_t i) const;
  SystemTime Time(std::size_t i) const;

 private:
  std::vector<SqlValue> columns_;
};

struct SqlResult {
  std::vector<SqlRow> rows;
  std::int64_t changed = 0;  // Rows that were inserted, updated or deleted.
};

SqlValue ToSql(SystemTime time);
SqlValue ToSql(const std::optional<std::string>& text);
Result<void> CheckParameters(const std::vector<SqlValue>& parameters);

enum class Access { kRead, kWrite };

struct Dialect {
  std::string_view text_type;  // Compared byte by byte.
  std::string_view bytes_type;
  std::string_view
      schema_lock;  // Held to the end of the transaction; empty if writing locks anyway.
};

class Connection {
 public:
  // How the last failed transaction ended.
  enum class Failure {
    kFinal,     // As the error says; a retry would fail again.
    kConflict,  // A conflict with another transaction. Nothing happened; it may be retried.
    kLost,      // The connection broke.
  };

  virtual ~Connection() = default;

  virtual Result<void> Begin(Access access) = 0;
  virtual Result<SqlResult> Run(std::string_view sql, std::vector<SqlValue> parameters = {}) = 0;
  virtual Result<void> Commit() = 0;
  virtual void Rollback() = 0;
  virtual Failure failure() const = 0;
  virtual const Dialect& dialect() const = 0;
};

}  // namespace caisson
