// A Connection to PostgreSQL.
//
// Trust     Same as Connection.
// Threads   Same as Connection; may move between threads.
// Lifetime  Connects at the start of a transaction if it is not connected, so it recovers after the
//           server was down.
#pragma once

#include <memory>
#include <string>

#include "store/sql/sql_connection.h"

struct pg_conn;
struct pg_result;

namespace caisson {

class PostgresConnection final : public Connection {
 public:
  explicit PostgresConnection(std::string url) : url_(std::move(url)) {}

  Result<void> Begin(Access access) override;
  Result<SqlResult> Run(std::string_view sql, std::vector<SqlValue> parameters = {}) override;
  Result<void> Commit() override;
  void Rollback() override;
  Failure failure() const override { return failure_; }
  const Dialect& dialect() const override;

 private:
  struct Finish {
    void operator()(pg_conn* connection) const;
  };
  struct Clear {
    void operator()(pg_result* result) const;
  };

  Result<void> Connect();
  Result<void> Execute(std::string_view sql);
  Error Failed(pg_result* result);

  const std::string url_;
  std::unique_ptr<pg_conn, Finish> connection_;
  Failure failure_ = Failure::kFinal;
};

}  // namespace caisson
