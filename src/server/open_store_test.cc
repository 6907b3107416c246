#include "server/open_store.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "server/host_state.h"

namespace caisson {
namespace {

using testing::Contains;
using testing::HasSubstr;

class OpenStoreTest : public testing::Test {
 protected:
  OpenStoreTest() {
    std::string pattern = std::filesystem::temp_directory_path() / "caisson-store-XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
    config_.directory = directory_;
  }
  ~OpenStoreTest() override { std::filesystem::remove_all(directory_); }

  std::filesystem::path directory_;
  Config config_;
};

TEST_F(OpenStoreTest, TheDatabaseAndItsKeysAreMadeBesideTheConfiguration) {
  ASSERT_TRUE(OpenStore(config_));
  const auto keys = OpenKeys(config_, {});
  ASSERT_TRUE(keys) << keys.error().message();
  // AC-22: nobody else reads what is kept.
  for (const char* name : {"caisson.db", "caisson.db.keys"}) {
    EXPECT_EQ(std::filesystem::status(directory_ / name).permissions(),
              std::filesystem::perms::owner_read | std::filesystem::perms::owner_write)
        << name;
  }
  EXPECT_EQ(OpenKeys(config_, {})->Ids(), keys->Ids());
  EXPECT_THAT(StoreFiles(config_), Contains(directory_ / "caisson.db"));
  EXPECT_THAT(StoreFiles(config_), Contains(directory_ / "caisson.db.keys"));
}

TEST_F(OpenStoreTest, LookingAtAMissingStoreCreatesNothing) {
  const auto store = OpenStore(config_, MissingStore::kRefuse);
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code(), ErrorCode::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(directory_ / "caisson.db"));
  config_.store.url = "memory:";
  EXPECT_FALSE(OpenStore(config_, MissingStore::kRefuse));
  EXPECT_TRUE(OpenStore(config_));
}

TEST_F(OpenStoreTest, KeysMayBeGivenByVariableOrFile) {
  config_.store.keys.environment = "RING";
  EXPECT_THAT(OpenKeys(config_, {}).error().message(), HasSubstr("RING"));
  EXPECT_THAT(OpenKeys(config_, {{"RING", "secret"}}).error().message(), HasSubstr("RING"));
  const std::string both = std::string(64, 'a') + "," + std::string(64, 'b');
  EXPECT_EQ(OpenKeys(config_, {{"RING", both}})->Ids().size(), 2u);

  config_.store.keys = {.file = "ring"};
  EXPECT_FALSE(OpenKeys(config_, {}));  // Named by somebody, and not there: not made either.
  std::ofstream(directory_ / "ring") << both;
  std::filesystem::permissions(directory_ / "ring", std::filesystem::perms::owner_read);
  EXPECT_EQ(OpenKeys(config_, {})->Ids().size(), 2u);
}

TEST_F(OpenStoreTest, AHostStateHasAllThatIsConfigured) {
  config_.approvals.poll = std::chrono::milliseconds(500);
  config_.runs = {.lease = std::chrono::milliseconds(2500),
                  .park = std::chrono::seconds(5),
                  .max_parked = 6,
                  .max_parked_bytes = 7,
                  .max_waiting = 8,
                  .max_waiting_bytes = 9,
                  .max_waiting_in_all = 10,
                  .max_waiting_bytes_in_all = 11,
                  .max_journal_bytes = 12,
                  .max_stored_bytes = 13};
  config_.retention.runs = std::chrono::hours(1);
  config_.audit.file = "audit.jsonl";
  const auto state = HostState::Open(config_, {});
  ASSERT_TRUE(state) << state.error().message();
  EXPECT_EQ((*state)->runs().poll, std::chrono::milliseconds(500));
  EXPECT_EQ((*state)->runs().lease, std::chrono::milliseconds(2500));
  EXPECT_EQ((*state)->runs().keep_parked, std::chrono::seconds(5));
  EXPECT_EQ((*state)->runs().max_parked, 6u);
  EXPECT_EQ((*state)->runs().max_parked_bytes, 7u);
  EXPECT_EQ((*state)->runs().waiting.runs, 8u);
  EXPECT_EQ((*state)->runs().waiting.saved_bytes, 9u);
  EXPECT_EQ((*state)->runs().waiting.runs_in_all, 10u);
  EXPECT_EQ((*state)->runs().waiting.saved_bytes_in_all, 11u);
  EXPECT_EQ((*state)->runs().max_journal_bytes, 12u);
  EXPECT_EQ((*state)->runs().max_stored_bytes, 13u);
  EXPECT_EQ((*state)->retention().finished_runs, std::chrono::hours(1));
  EXPECT_EQ((*state)->retention().documents, Retention().documents);
  EXPECT_EQ((*state)->keys().Ids(), OpenKeys(config_, {})->Ids());
  EXPECT_THAT((*state)->hidden(), Contains(directory_ / "audit.jsonl"));
  EXPECT_TRUE(std::filesystem::exists(directory_ / "audit.jsonl"));
  EXPECT_TRUE(HostState::Open(config_, {}));  // Another process beside it.
  config_.audit.file = "none/audit.jsonl";
  EXPECT_FALSE(HostState::Open(config_, {}));
}

TEST_F(OpenStoreTest, KeysOfAStoreInMemoryAreNowhereElse) {
  config_.store.url = "memory:";
  EXPECT_NE(OpenKeys(config_, {})->Ids(), OpenKeys(config_, {})->Ids());
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
}

}  // namespace
}  // namespace caisson
