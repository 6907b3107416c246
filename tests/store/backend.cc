#include "tests/store/backend.h"

#include <fcntl.h>
#include <libpq-fe.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <stdexcept>

#include "base/unique_fd.h"
#include "store/postgres/postgres_connection.h"
#include "store/postgres/postgres_store.h"
#include "store/sqlite/sqlite_connection.h"
#include "store/sqlite/sqlite_store.h"

namespace caisson {
namespace {

template <typename T>
T Must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message());
  return *std::move(result);
}

class MemoryBackend final : public Backend {
 public:
  std::shared_ptr<Store> Open() override { return store_; }
  std::string url() const override { return {}; }
  std::unique_ptr<Connection> Direct() override { return nullptr; }

 private:
  const std::shared_ptr<Store> store_ = Must(OpenMemoryStore());
};

class SqliteBackend final : public Backend {
 public:
  SqliteBackend() {
    std::string pattern = "/tmp/caisson-store.XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp");
    directory_ = pattern;
  }
  ~SqliteBackend() override { std::filesystem::remove_all(directory_); }

  std::shared_ptr<Store> Open() override { return Must(OpenSqliteStore({.path = Path()})); }
  std::string url() const override { return "sqlite:" + Path(); }
  std::unique_ptr<Connection> Direct() override {
    return Must(SqliteConnection::Open(Path(), Access::kWrite, std::chrono::seconds(5)));
  }

 private:
  std::string Path() const { return directory_ / "caisson.db"; }
  std::filesystem::path directory_;
};

// One server for all tests of the program.
class PostgresServer {
 public:
  PostgresServer() {
    std::array<int, 2> input{};
    std::array<int, 2> output{};
    if (::pipe2(input.data(), O_CLOEXEC) != 0 || ::pipe2(output.data(), O_CLOEXEC) != 0) {
      throw std::runtime_error("pipe2");
    }
    const UniqueFd child_input(input[0]);
    input_ = UniqueFd(input[1]);
    const UniqueFd child_output(output[1]);
    const UniqueFd from_child(output[0]);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, child_input.get(), STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, child_output.get(), STDOUT_FILENO);
    std::string script = CAISSON_POSTGRES_SERVER;
    const std::array<char*, 2> argv = {script.data(), nullptr};
    const int failed = ::posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), ::environ);
    ::posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) throw std::runtime_error("posix_spawn");
    for (char c = 0; ::read(from_child.get(), &c, 1) == 1 && c != '\n';) directory_.push_back(c);
  }
  ~PostgresServer() {
    input_ = UniqueFd();
    ::waitpid(pid_, nullptr, 0);
  }

  // Empty: it did not start, and has printed why.
  const std::string& directory() const { return directory_; }

 private:
  UniqueFd input_;
  pid_t pid_ = -1;
  std::string directory_;
};

class PostgresBackend final : public Backend {
 public:
  PostgresBackend() {
    static const PostgresServer kServer;
    static std::atomic<int> count = 0;
    if (kServer.directory().empty()) throw std::runtime_error("PostgreSQL does not start");
    const std::string schema = "test_" + std::to_string(++count);
    const std::string server = "postgres://caisson@/postgres?host=" + kServer.directory();
    PostgresConnection admin(server);
    Check(admin.Begin(Access::kWrite));
    Must(admin.Run("CREATE SCHEMA " + schema));
    Check(admin.Commit());
    url_ = server + "&options=-csearch_path%3D" + schema;
  }

  std::shared_ptr<Store> Open() override { return Must(OpenPostgresStore({.url = url_})); }
  std::string url() const override { return url_; }
  std::unique_ptr<Connection> Direct() override {
    return std::make_unique<PostgresConnection>(url_);
  }

 private:
  static void Check(const Result<void>& result) {
    if (!result) throw std::runtime_error(result.error().message());
  }
  std::string url_;
};

}  // namespace

std::string ToString(BackendKind kind) {
  switch (kind) {
    case BackendKind::kMemory:
      return "Memory";
    case BackendKind::kSqlite:
      return "Sqlite";
    case BackendKind::kPostgres:
      return "Postgres";
  }
  return "";
}

std::unique_ptr<Backend> MakeBackend(BackendKind kind) {
  switch (kind) {
    case BackendKind::kMemory:
      return std::make_unique<MemoryBackend>();
    case BackendKind::kSqlite:
      return std::make_unique<SqliteBackend>();
    case BackendKind::kPostgres:
      return std::make_unique<PostgresBackend>();
  }
  return nullptr;
}

}  // namespace caisson
