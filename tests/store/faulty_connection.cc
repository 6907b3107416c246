#include "tests/store/faulty_connection.h"

#include <limits>
#include <stdexcept>
#include <utility>

#include "store/sql/database.h"
#include "store/sql/sql_store.h"

namespace caisson {
namespace {

// As the two databases report them.
Error ErrorOf(Fault fault) {
  switch (fault) {
    case Fault::kFull:
      return Error(ErrorCode::kNoSpace, "injected: the disk is full");
    case Fault::kIo:
      return Error(ErrorCode::kUnavailable, "injected: I/O error");
    case Fault::kBusy:
      return Error(ErrorCode::kUnavailable, "injected: the database is locked");
    case Fault::kLost:
    case Fault::kLostAfterward:
      break;
  }
  return Error(ErrorCode::kUnavailable, "injected: the connection is lost");
}

class FaultyConnection final : public Connection {
 public:
  FaultyConnection(std::unique_ptr<Connection> inner, std::shared_ptr<FaultPlan> plan)
      : inner_(std::move(inner)), plan_(std::move(plan)) {}

  Result<void> Begin(Access access) override {
    return Pass<Result<void>>("BEGIN", [&] { return inner_->Begin(access); });
  }
  Result<SqlResult> Run(std::string_view sql, std::vector<SqlValue> parameters) override {
    return Pass<Result<SqlResult>>(sql, [&] { return inner_->Run(sql, std::move(parameters)); });
  }
  Result<void> Commit() override {
    return Pass<Result<void>>("COMMIT", [&] { return inner_->Commit(); });
  }
  void Rollback() override { inner_->Rollback(); }
  Failure failure() const override { return failure_.value_or(inner_->failure()); }
  const Dialect& dialect() const override { return inner_->dialect(); }

 private:
  template <typename T>
  T Pass(std::string_view sql, const std::function<T()>& statement) {
    failure_.reset();
    const auto fault = plan_->Next(sql);
    if (!fault) return statement();
    if (*fault == Fault::kLostAfterward) static_cast<void>(statement().has_value());
    const bool lost = *fault == Fault::kLost || *fault == Fault::kLostAfterward;
    failure_ = lost ? Failure::kLost : Failure::kFinal;
    // A server rolls back what a lost connection had begun.
    if (lost || sql == "BEGIN") inner_->Rollback();
    return ErrorOf(*fault);
  }

  const std::unique_ptr<Connection> inner_;
  const std::shared_ptr<FaultPlan> plan_;
  std::optional<Failure> failure_;
};

}  // namespace

std::string ToString(Fault fault) {
  static constexpr const char* kNames[] = {"Full", "Io", "Busy", "Lost", "LostAfterward"};
  return kNames[static_cast<std::size_t>(fault)];
}

std::optional<Fault> FaultPlan::Next(std::string_view sql) {
  auto state = state_.Lock();
  const int number = ++state->statements;
  if (!state->from.empty() && sql.contains(state->from)) {
    state->from.clear();
    state->first = number;
    state->last = std::numeric_limits<int>::max();
  }
  if (number < state->first || number > state->last) return std::nullopt;
  if (state->failed.empty()) state->failed = sql;
  return state->fault;
}

std::unique_ptr<Store> OpenFaulty(Backend& backend, std::shared_ptr<FaultPlan> plan) {
  Database::Connections connections;
  auto direct = backend.Direct();
  // Durability across a power cut is not needed, and there are thousands of commits.
  if (direct->dialect().bytes_type == "BLOB") {
    static_cast<void>(direct->Run("PRAGMA synchronous = OFF").has_value());
  }
  connections.push_back(std::make_unique<FaultyConnection>(std::move(direct), std::move(plan)));
  auto store = OpenSqlStore(std::make_unique<Database>(std::move(connections)));
  if (!store) throw std::runtime_error(store.error().message());
  return *std::move(store);
}

}  // namespace caisson
