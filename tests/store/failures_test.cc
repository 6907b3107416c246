// The errors of a failing store for its callers and for the operator.
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "store/postgres/postgres_connection.h"
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

// A server that accepts the session's settings and a BEGIN, and then ends as PostgreSQL does when
// it is stopped at once: it warns and closes the connection.
class EndingServer {
 public:
  EndingServer() {
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    (directory() / ".s.PGSQL.5432").string().copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener_, 1), 0);
    thread_ = std::thread([this] { Serve(); });
  }
  ~EndingServer() {
    AwaitEnd();
    ::close(listener_);
    std::filesystem::remove_all(directory());
  }
  std::string url() const { return "postgres://x@/x?host=" + directory().string(); }
  void AwaitEnd() {
    if (thread_.joinable()) thread_.join();
  }

 private:
  static std::filesystem::path directory() {
    const auto path =
        std::filesystem::temp_directory_path() / ("caisson-pg-" + std::to_string(::getpid()));
    std::filesystem::create_directories(path);
    return path;
  }
  static std::string Message(char type, std::string_view body) {
    return std::string{type, 0, 0, 0, static_cast<char>(body.size() + 4)}.append(body);
  }
  // Reads until a message ends with `end`.
  static void Await(int client, std::string_view end) {
    std::string seen;
    char byte = 0;
    while (!seen.ends_with(end) && ::read(client, &byte, 1) == 1) seen += byte;
  }
  static void Send(int client, const std::string& text) {
    EXPECT_EQ(::write(client, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void Serve() const {
    using namespace std::string_literals;
    const int client = ::accept(listener_, nullptr, nullptr);
    const std::string ready = Message('Z', "I");
    Await(client, "\0\0"s);  // The end of the names and values that a connection begins with.
    Send(client, Message('R', "\0\0\0\0"s) + ready);
    for (int statement = 0; statement < 6; ++statement) {
      Await(client, "S\0\0\0\4"s);
      Send(client,
           Message('1', "") + Message('2', "") + Message('n', "") + Message('C', "SET\0"s) + ready);
    }
    // More than libpq reads at once: it does not see the end of the connection before it gives up
    // the statement.
    const std::string warning = Message('N', "SWARNING\0C57P02\0Mstopping\0\0"s);
    std::string warnings;
    for (int i = 0; i < 1000; ++i) warnings += warning;
    Send(client, warnings);
    ::close(client);
  }

  const int listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::thread thread_;
};

TEST(PostgresEndTest, AServerThatWarnsAndEndsIsALostConnection) {
  EndingServer server;
  PostgresConnection connection(server.url());
  ASSERT_TRUE(connection.Begin(Access::kWrite));
  server.AwaitEnd();
  const auto asked = connection.Run("SELECT 1");
  ASSERT_FALSE(asked);
  EXPECT_EQ(asked.error().code(), ErrorCode::kUnavailable) << asked.error().message();
  EXPECT_EQ(connection.failure(), Connection::Failure::kLost);
  connection.Rollback();
}

}  // namespace
}  // namespace caisson
