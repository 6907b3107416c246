// What a store that fails tells its callers, and what it tells the operator.
#include <gmock/gmock.h>

#include "tests/store/backend.h"
#include "tests/store/faulty_connection.h"

namespace caisson {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class FailureTest : public testing::TestWithParam<BackendKind> {
 protected:
  Result<void> Write() { return Now(store_->maintenance().CheckWritable()); }

  const std::unique_ptr<Backend> backend_ = MakeBackend(GetParam());
  const std::shared_ptr<FaultPlan> plan_ = std::make_shared<FaultPlan>();
  const std::unique_ptr<Store> store_ = OpenFaulty(*backend_, plan_);
};

TEST_P(FailureTest, AFullDiskIsTheServersFaultAndItsDetailsAreForTheOperator) {
  std::vector<std::string> heard;
  store_->health().Listen([&](const std::optional<Error>& problem) {
    heard.push_back(problem ? problem->message() : "works again");
  });
  plan_->FailAll(1, 1000, Fault::kFull);
  for (int i = 0; i < 2; ++i) {
    const auto written = Write();
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code(), ErrorCode::kNoSpace);
    EXPECT_THAT(written.error().message(), HasSubstr("full"));
    EXPECT_THAT(written.error().message(), Not(HasSubstr("injected")));
  }
  EXPECT_FALSE(store_->health().WrittenWithin(std::chrono::hours(1)));
  plan_->Stop();
  EXPECT_TRUE(Write());
  EXPECT_TRUE(store_->health().WrittenWithin(std::chrono::hours(1)));
  EXPECT_THAT(heard, ElementsAre("injected: the disk is full", "works again"));
}

TEST_P(FailureTest, ARefusalIsNoFailureOfTheStore) {
  ASSERT_TRUE(Write());
  const auto missing = Now(store_->runs().AskToCancel(OwnerNamed("ann"), RunId("run_x"), {}));
  EXPECT_EQ(missing.error().code(), ErrorCode::kNotFound);
  EXPECT_TRUE(store_->health().WrittenWithin(std::chrono::hours(1)));
}

TEST_P(FailureTest, ALostConnectionIsReplacedUnlessACommitIsInDoubt) {
  for (int number = 1; number <= 2; ++number) {
    plan_->Fail(number, Fault::kLost);
    EXPECT_TRUE(Write()) << number;
    EXPECT_NE(plan_->failed(), "");
  }
  plan_->Fail(3, Fault::kLostAfterward);
  EXPECT_EQ(Write().error().code(), ErrorCode::kUnavailable);
  EXPECT_EQ(plan_->failed(), "COMMIT");
}

INSTANTIATE_TEST_SUITE_P(Over, FailureTest,
                         testing::Values(BackendKind::kSqlite, BackendKind::kPostgres),
                         [](const auto& info) { return ToString(info.param); });

// The databases' own errors.
TEST(SqliteFailureTest, ADatabaseThatMayNotGrowIsFull) {
  const auto backend = MakeBackend(BackendKind::kSqlite);
  const auto connection = backend->Direct();
  ASSERT_TRUE(connection->Run("PRAGMA max_page_count = 10"));
  ASSERT_TRUE(connection->Begin(Access::kWrite));
  ASSERT_TRUE(connection->Run("CREATE TABLE t (b BLOB)"));
  const auto put = connection->Run("INSERT INTO t VALUES ($1)", {Bytes{std::string(1 << 20, 'x')}});
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().code(), ErrorCode::kNoSpace);
}

struct State {
  const char* sql_state;
  ErrorCode code;
};

class PostgresFailureTest : public testing::TestWithParam<State> {};

TEST_P(PostgresFailureTest, ErrorsOfTheServerSayWhatCanBeDone) {
  const auto backend = MakeBackend(BackendKind::kPostgres);
  const auto connection = backend->Direct();
  ASSERT_TRUE(connection->Begin(Access::kWrite));
  const auto raised = connection->Run(std::string("DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '") +
                                      GetParam().sql_state + "'; END $$");
  ASSERT_FALSE(raised);
  EXPECT_EQ(raised.error().code(), GetParam().code);
}

INSTANTIATE_TEST_SUITE_P(Over, PostgresFailureTest,
                         testing::Values(State{"53100", ErrorCode::kNoSpace},      // Disk full.
                                         State{"53300", ErrorCode::kUnavailable},  // Connections.
                                         State{"58030", ErrorCode::kUnavailable},  // I/O error.
                                         State{"57P01", ErrorCode::kUnavailable},  // Shutting down.
                                         State{"25006", ErrorCode::kUnavailable},  // Read only.
                                         State{"22012", ErrorCode::kInternal}),
                         [](const auto& info) {
                           return std::string(info.param.sql_state) + "Postgres";
                         });

}  // namespace
}  // namespace caisson
