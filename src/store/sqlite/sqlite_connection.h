// A Connection to SQLite.
//
// Trust     As Connection.
// Threads   As Connection; may move between threads.
// Lifetime  Statements are prepared once and kept.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>

#include "store/sql/sql_connection.h"

struct sqlite3;
struct sqlite3_stmt;

namespace caisson {

class SqliteConnection final : public Connection {
 public:
  // ":memory:" opens a separate database in memory.
  static Result<std::unique_ptr<SqliteConnection>> Open(const std::string& path, Access access,
                                                        std::chrono::milliseconds busy_timeout);

  Result<void> Begin(Access access) override;
  Result<SqlResult> Run(std::string_view sql, std::vector<SqlValue> parameters = {}) override;
  Result<void> Commit() override;
  void Rollback() override;
  Failure failure() const override { return failure_; }
  const Dialect& dialect() const override;

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

  explicit SqliteConnection(sqlite3* database) : database_(database) {}
  Result<void> Execute(std::string_view sql);
  Result<sqlite3_stmt*> Prepared(std::string_view sql);
  Result<SqlResult> Step(sqlite3_stmt* statement);
  Error Failed(int code);

  std::unique_ptr<sqlite3, Close> database_;
  std::map<std::string, Statement, std::less<>> statements_;  // Destroyed before the database.
  Failure failure_ = Failure::kFinal;
};

}  // namespace caisson
