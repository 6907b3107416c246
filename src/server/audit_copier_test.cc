#include "server/audit_copier.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/spawn.h"
#include "server/open_store.h"

namespace caisson {
namespace {

class AuditCopierTest : public testing::Test {
 protected:
  AuditCopierTest() {
    std::string pattern = std::filesystem::temp_directory_path() / "caisson-copier-XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
    Config config;
    config.store.url = "memory:";
    store_ = *OpenStore(config);
  }
  ~AuditCopierTest() override { std::filesystem::remove_all(directory_); }

  void Append() {
    asio::io_context context(1);
    const auto append = [&]() -> asio::awaitable<void> {
      const auto done = co_await store_->audit().Append(
          owner_, {.at = {}, .kind = "effect.started", .body = "{}"});
      EXPECT_TRUE(done);
    };
    Spawn(context.get_executor(), append);
    context.run();
  }
  std::int64_t Copied() const {
    std::ostringstream text;
    text << std::ifstream(directory_ / "audit.jsonl").rdbuf();
    const auto heads = VerifyAuditLines(text.str());
    return heads && heads->contains(owner_.str()) ? heads->at(owner_.str()).seq : 0;
  }

  std::filesystem::path directory_;
  std::unique_ptr<Store> store_;
  const IsolationKey owner_{*Identity::Create({.user = "ann"})};
};

TEST_F(AuditCopierTest, CopiesWhatComesAndWhatCameLast) {
  const AuditCopierOptions options{.path = directory_ / "audit.jsonl",
                                   .interval = std::chrono::milliseconds(1)};
  Append();
  {
    auto copier = AuditCopier::Start(*store_, options);
    ASSERT_TRUE(copier) << copier.error().message();
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (Copied() < 1 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    EXPECT_EQ(Copied(), 1);
    Append();
  }
  EXPECT_EQ(Copied(), 2);
}

TEST_F(AuditCopierTest, StopsAtOnceHoweverLongItsPause) {
  const auto start = std::chrono::steady_clock::now();
  Append();
  ASSERT_TRUE(AuditCopier::Start(
      *store_, {.path = directory_ / "audit.jsonl", .interval = std::chrono::hours(1)}));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::minutes(1));
  EXPECT_EQ(Copied(), 1);
}

TEST_F(AuditCopierTest, WhenOneEndsAnotherTakesOver) {
  const AuditCopierOptions options{.path = directory_ / "audit.jsonl",
                                   .interval = std::chrono::hours(1)};
  auto first = AuditCopier::Start(*store_, options);
  ASSERT_TRUE(first);
  auto second = AuditCopier::Start(*store_, options);
  ASSERT_TRUE(second) << second.error().message();
  first->reset();
  Append();
  second->reset();
  EXPECT_EQ(Copied(), 1);
}

TEST_F(AuditCopierTest, AFileThatCannotBeWrittenIsToldAtTheStart) {
  EXPECT_FALSE(AuditCopier::Start(*store_, {.path = directory_ / "none" / "audit.jsonl"}));
}

}  // namespace
}  // namespace caisson
