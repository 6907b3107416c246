#include "server/open_store.h"

#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "store/postgres/postgres_store.h"
#include "store/sqlite/sqlite_store.h"

namespace caisson {
namespace {

constexpr std::string_view kSqlite = "sqlite:";
constexpr std::string_view kMemory = "memory:";

std::string Beside(const Config& config, std::string_view path) {
  return (std::filesystem::path(config.directory) / path).string();
}

// Returns the path of the database, if it is a file.
std::optional<std::string> DatabaseFile(const Config& config) {
  if (!config.store.url.starts_with(kSqlite)) return std::nullopt;
  return Beside(config, config.store.url.substr(kSqlite.size()));
}

// Returns the path of the keys, if they are in a file.
std::optional<std::string> KeyFile(const Config& config) {
  if (!config.store.keys.file.empty()) return Beside(config, config.store.keys.file);
  if (!config.store.keys.environment.empty() || config.store.url == kMemory) return std::nullopt;
  const std::optional<std::string> database = DatabaseFile(config);
  return database ? *database + ".keys" : Beside(config, "caisson.keys");
}

}  // namespace

Result<std::unique_ptr<Store>> OpenStore(const Config& config, MissingStore missing) {
  if (config.store.url == kMemory) {
    if (missing == MissingStore::kRefuse) {
      return Error(
          ErrorCode::kNotFound,
          "a store in memory (store.url = \"memory:\") cannot be opened by another process");
    }
    return OpenMemoryStore();
  }
  const std::optional<std::string> file = DatabaseFile(config);
  if (!file) return OpenPostgresStore({.url = config.store.url});
  std::error_code error;
  if (missing == MissingStore::kRefuse && !std::filesystem::exists(*file, error)) {
    return Error(ErrorCode::kNotFound, "nothing is stored yet: there is no database at " + *file);
  }
  return OpenSqliteStore({.path = *file});
}

Result<KeyRing> OpenKeys(const Config& config, const EnvironmentMap& host) {
  const SecretReference& named = config.store.keys;
  if (!named.environment.empty()) {
    const auto variable = host.find(named.environment);
    if (variable == host.end() || variable->second.empty()) {
      return Error(ErrorCode::kFailedPrecondition,
                   "the environment variable " + named.environment + " is not set");
    }
    auto ring = KeyRing::Parse(variable->second);
    if (!ring) return std::move(ring).error().Context(named.environment);
    return ring;
  }
  const std::optional<std::string> file = KeyFile(config);
  if (!file) return KeyRing::Generate();
  return named.file.empty() ? KeyRing::LoadOrCreate(*file) : KeyRing::Load(*file);
}

std::vector<std::string> StoreFiles(const Config& config) {
  std::vector<std::string> files;
  // SQLite keeps the latest writes in files beside the database.
  if (const auto database = DatabaseFile(config)) {
    for (const std::string_view suffix : {"", "-wal", "-shm", "-journal"}) {
      files.push_back(*database + std::string(suffix));
    }
  }
  if (const auto keys = KeyFile(config)) files.push_back(*keys);
  if (!config.store.is_configured) {
    std::error_code error;
    std::erase_if(files,
                  [&](const std::string& file) { return !std::filesystem::exists(file, error); });
  }
  if (!config.audit.file.empty()) files.push_back(Beside(config, config.audit.file));
  return files;
}

}  // namespace caisson
