#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <thread>

#include "store/postgres/postgres_store.h"
#include "store/sql/sql_schema.h"
#include "store/sqlite/sqlite_store.h"
#include "tests/store/backend.h"

namespace caisson {
namespace {

using testing::HasSubstr;

class SchemaTest : public StoreTest {
 protected:
  Result<SqlResult> Run(std::string_view sql) {
    if (Result<void> begun = connection_->Begin(Access::kWrite); !begun) {
      return std::move(begun).error();
    }
    Result<SqlResult> result = connection_->Run(sql);
    if (!result) {
      connection_->Rollback();
      return result;
    }
    if (Result<void> done = connection_->Commit(); !done) return std::move(done).error();
    return result;
  }
  Result<void> MigrateTo(std::span<const Migration> migrations) {
    if (Result<void> begun = connection_->Begin(Access::kWrite); !begun) return begun;
    Result<void> migrated = Migrate(*connection_, migrations);
    if (!migrated) {
      connection_->Rollback();
      return migrated;
    }
    return connection_->Commit();
  }

  const std::unique_ptr<Connection> connection_ = backend_->Direct();
};

// I3, checked on the real tables.
TEST_P(SchemaTest, TheOwnerComesFirstInEveryPrimaryKey) {
  const auto keys = Run(
      GetParam() == BackendKind::kSqlite
          ? "SELECT m.name, (SELECT name FROM pragma_table_info(m.name) WHERE pk = 1) "
            "FROM sqlite_master m WHERE m.type = 'table' AND m.name <> 'caisson_schema'"
          : "SELECT CAST(t.table_name AS TEXT), CAST((SELECT k.column_name "
            "FROM information_schema.table_constraints c "
            "JOIN information_schema.key_column_usage k ON k.constraint_name = c.constraint_name "
            "AND k.constraint_schema = c.constraint_schema WHERE c.constraint_type = 'PRIMARY KEY' "
            "AND c.table_schema = t.table_schema AND c.table_name = t.table_name "
            "AND k.ordinal_position = 1) AS TEXT) FROM information_schema.tables t "
            "WHERE t.table_schema = current_schema() AND t.table_name <> 'caisson_schema'");
  ASSERT_TRUE(keys) << Why(keys);
  EXPECT_GE(keys->rows.size(), 15U);
  for (const SqlRow& row : keys->rows) {
    EXPECT_EQ(row.OptionalText(1), "owner") << row.Text(0);
  }
}

TEST_P(SchemaTest, ANewerSchemaIsRefusedAndLeftAlone) {
  ASSERT_TRUE(Run("UPDATE caisson_schema SET version = 99"));
  const auto refused = MigrateTo(Migrations());
  EXPECT_EQ(refused.error().code(), ErrorCode::kFailedPrecondition);
  EXPECT_THAT(refused.error().message(), HasSubstr("newer"));
  EXPECT_EQ(Run("SELECT version FROM caisson_schema")->rows.at(0).Int(0), 99);
  EXPECT_ANY_THROW(backend_->Open());
}

TEST_P(SchemaTest, AnOlderSchemaGoesForwardStepByStep) {
  StartRun("r");
  std::vector<Migration> next(Migrations().begin(), Migrations().end());
  next.push_back(
      "CREATE TABLE later (owner {text} NOT NULL, x {bytes}, PRIMARY KEY (owner));"
      "INSERT INTO later (owner) SELECT owner FROM runs;");
  ASSERT_TRUE(MigrateTo(next));
  EXPECT_EQ(Run("SELECT owner FROM later")->rows.at(0).Text(0), ann_.str());
  ASSERT_TRUE(MigrateTo(next));  // Again: nothing to do.
  EXPECT_EQ(Run("SELECT COUNT(*) FROM later")->rows.at(0).Int(0), 1);
  EXPECT_EQ(MigrateTo(Migrations()).error().code(), ErrorCode::kFailedPrecondition);
}

// The step that gave outcomes a table of their own.
TEST_P(SchemaTest, OutcomesOfAnOlderSchemaAreKept) {
  constexpr std::size_t kStepsBefore = 7;
  const auto drop = [&] {
    for (const char* table : {"documents",
                              "caisson_schema",
                              "runs",
                              "saved_runs",
                              "run_files",
                              "calls",
                              "approvals",
                              "grants",
                              "audit",
                              "audit_heads",
                              "checkpoints",
                              "checkpoint_heads",
                              "responses",
                              "conversations",
                              "conversation_items",
                              "idempotency",
                              "run_outcomes",
                              "response_leases",
                              "response_events",
                              "conversation_turns"}) {
      ASSERT_TRUE(Run("DROP TABLE " + std::string(table)));
    }
  };
  drop();
  ASSERT_TRUE(MigrateTo(Migrations().first(kStepsBefore)));
  const bool sqlite = GetParam() == BackendKind::kSqlite;
  const std::string bytes = sqlite ? "CAST('out' AS BLOB)" : "CAST('out' AS BYTEA)";
  ASSERT_TRUE(
      Run("INSERT INTO runs (owner, id, state, fence, lease_until, code_digest, request, "
          "outcome, created_at, updated_at) VALUES ('" +
          ann_.str() + "', 'r', 'finished', 1, 0, 'code', " + bytes + ", " + bytes + ", 0, 0)"));
  const auto store = backend_->Open();
  EXPECT_EQ(Now(store->runs().Find(ann_, RunId("r")))->outcome, "out");
  const auto page = Now(store->runs().List(ann_, RunState::kFinished, {}));
  ASSERT_TRUE(page) << Why(page);
  ASSERT_EQ(page->items.size(), 1u);
  EXPECT_EQ(page->items[0].summary, "");  // Its outcome must be read.
  EXPECT_EQ(Now(store->runs().Find(ann_, RunId("r")))->attempts, 0u);
}

TEST_P(SchemaTest, AStepThatFailsLeavesTheSchemaAsItWas) {
  std::vector<Migration> next(Migrations().begin(), Migrations().end());
  next.push_back("CREATE TABLE half (owner {text} NOT NULL); SELECT * FROM nowhere;");
  EXPECT_FALSE(MigrateTo(next));
  EXPECT_FALSE(Run("SELECT * FROM half"));
  EXPECT_TRUE(MigrateTo(Migrations()));
}

TEST_P(SchemaTest, StoredDataIsThereAfterReopening) {
  StartRun("r");
  EXPECT_TRUE(Now(backend_->Open()->runs().Find(ann_, RunId("r"))));
}

TEST_P(SchemaTest, ReplicasThatStartTogetherUpgradeOnce) {
  ASSERT_TRUE(Run("DROP TABLE documents"));
  ASSERT_TRUE(Run("DROP TABLE caisson_schema"));
  for (const char* table : {"runs", "saved_runs", "run_files", "calls", "approvals", "grants",
                            "audit", "audit_heads", "checkpoints", "checkpoint_heads", "responses",
                            "conversations", "conversation_items", "idempotency", "run_outcomes",
                            "response_leases", "response_events", "conversation_turns"}) {
    ASSERT_TRUE(Run("DROP TABLE " + std::string(table)));
  }
  std::vector<std::jthread> replicas;
  for (int i = 0; i < 4; ++i) {
    replicas.emplace_back([&] { EXPECT_NO_THROW(backend_->Open()); });
  }
  replicas.clear();
  EXPECT_EQ(Run("SELECT COUNT(*) FROM caisson_schema")->rows.at(0).Int(0), 1);
}

INSTANTIATE_TEST_SUITE_P(Over, SchemaTest,
                         testing::Values(BackendKind::kSqlite, BackendKind::kPostgres),
                         [](const auto& info) { return ToString(info.param); });

class ReconnectTest : public SchemaTest {};

TEST_P(ReconnectTest, LostConnectionsComeBack) {
  StartRun("r");
  for (int round = 0; round < 3; ++round) {
    const auto killed =
        Run("SELECT COUNT(pg_terminate_backend(pid)) FROM pg_stat_activity "
            "WHERE pid <> pg_backend_pid() AND application_name = 'caisson'");
    ASSERT_TRUE(killed) << Why(killed);
    EXPECT_TRUE(Now(store_->runs().Find(ann_, RunId("r"))));
    EXPECT_TRUE(Now(store_->runs().Create(ann_, {.id = RunId(std::to_string(round))}, Term("x"))));
  }
}

INSTANTIATE_TEST_SUITE_P(Over, ReconnectTest, testing::Values(BackendKind::kPostgres),
                         [](const auto& info) { return ToString(info.param); });

TEST(OpenStoreTest, AServerThatIsNotThereIsUnavailable) {
  const auto store = OpenPostgresStore({.url = "postgres://x@/x?host=/nonexistent"});
  EXPECT_EQ(store.error().code(), ErrorCode::kUnavailable);
}

TEST(OpenStoreTest, AFileThatCannotBeOpenedSaysSo) {
  EXPECT_THAT(OpenSqliteStore({.path = "/nonexistent/x.db"}).error().message(),
              HasSubstr("/nonexistent/x.db"));
}

TEST(OpenStoreTest, TheFileIsItsOwnersAlone) {
  std::string directory = "/tmp/caisson-store.XXXXXX";
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  const std::string path = directory + "/x.db";
  const mode_t before = ::umask(0);
  {
    const auto store = OpenSqliteStore({.path = path});
    ASSERT_TRUE(store) << Why(store);
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
      struct stat status{};
      ASSERT_EQ(::stat(entry.path().c_str(), &status), 0);
      EXPECT_EQ(status.st_mode & 0777, 0600U) << entry.path();
    }
  }
  ::umask(before);
  // A link in its place is not followed.
  std::filesystem::create_symlink(path, directory + "/link.db");
  EXPECT_FALSE(OpenSqliteStore({.path = directory + "/link.db"}));
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace caisson
