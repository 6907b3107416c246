#include "approval/audit_trail.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "store/sqlite/sqlite_connection.h"
#include "store/sqlite/sqlite_store.h"
#include "tests/store/backend.h"

namespace caisson {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

class AuditTrailTest : public testing::Test {
 protected:
  AuditTrailTest() {
    std::string pattern = std::filesystem::temp_directory_path() / "caisson-audit-XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
    store_ = *OpenSqliteStore({.path = directory_ / "db"});
  }
  ~AuditTrailTest() override { std::filesystem::remove_all(directory_); }

  void Append(const IsolationKey& owner, int count = 1) {
    for (int i = 0; i < count; ++i) {
      const SystemTime at{std::chrono::microseconds(1'700'000'000'123'456 + i)};
      ASSERT_TRUE(Now(store_->audit().Append(
          owner, {.at = at, .kind = "effect.started", .body = R"({"run":"r","x":1.5})"})));
    }
  }
  Result<AuditHead> Verify() { return Now(VerifyAudit(store_->audit(), ann_)); }
  // Bypasses the store, as an attacker who can write its file would.
  void Tamper(std::string_view sql) {
    auto connection =
        *SqliteConnection::Open(directory_ / "db", Access::kWrite, std::chrono::seconds(5));
    ASSERT_TRUE(connection->Begin(Access::kWrite));
    ASSERT_TRUE(connection->Run(sql));
    ASSERT_TRUE(connection->Commit());
  }
  std::string Path() const { return directory_ / "audit.jsonl"; }
  std::string Contents() const {
    std::ostringstream text;
    text << std::ifstream(Path()).rdbuf();
    return text.str();
  }
  std::size_t CatchUp(AuditFile& file) {
    auto count = Now(file.CatchUp(*store_));
    EXPECT_TRUE(count) << Why(count);
    return count ? *count : 0;
  }
  std::size_t OpenAndCatchUp() {
    auto file = AuditFile::Open(Path());
    EXPECT_TRUE(file) << Why(file);
    return file ? CatchUp(*file) : 0;
  }

  std::filesystem::path directory_;
  std::unique_ptr<Store> store_;
  const IsolationKey ann_ = OwnerNamed("ann");
  const IsolationKey bob_ = OwnerNamed("bob");
};

TEST_F(AuditTrailTest, AWholeLogVerifies) {
  EXPECT_EQ(Verify()->seq, 0);
  Append(ann_, 1203);  // More than one read returns.
  const auto head = Verify();
  ASSERT_TRUE(head) << Why(head);
  EXPECT_EQ(head->seq, 1203);
}

TEST_F(AuditTrailTest, EveryKindOfTamperingIsSeen) {
  Append(ann_, 5);
  Tamper("UPDATE audit SET body = '{}' WHERE seq = 3");
  EXPECT_THAT(Verify().error().message(), HasSubstr("entry 3"));
  Tamper("DELETE FROM audit WHERE seq = 3");
  EXPECT_THAT(Verify().error().message(), HasSubstr("entry 3"));
  Tamper("DELETE FROM audit WHERE seq >= 3");
  EXPECT_THAT(Verify().error().message(), HasSubstr("ends at entry 2"));
  Tamper("DELETE FROM audit");
  EXPECT_EQ(Verify().error().code(), ErrorCode::kFailedPrecondition);
}

TEST_F(AuditTrailTest, TheFileHasEverybodysEntriesOnce) {
  auto file = AuditFile::Open(Path());
  ASSERT_TRUE(file) << Why(file);
  Append(ann_, 2);
  Append(bob_);
  EXPECT_EQ(CatchUp(*file), 3u);
  EXPECT_EQ(CatchUp(*file), 0u);
  Append(ann_);
  EXPECT_EQ(CatchUp(*file), 1u);
  const auto heads = VerifyAuditLines(Contents());
  ASSERT_TRUE(heads) << Why(heads);
  EXPECT_EQ(heads->at(ann_.str()), *Verify());
  EXPECT_EQ(heads->at(bob_.str()).seq, 1);
  struct stat status{};
  ASSERT_EQ(::stat(Path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(AuditTrailTest, AFileGoesOnWhereItEndedEvenInTheMiddleOfALine) {
  Append(ann_, 3);
  ASSERT_EQ(OpenAndCatchUp(), 3u);
  std::filesystem::resize_file(Path(), std::filesystem::file_size(Path()) - 10);
  Append(ann_);
  auto file = AuditFile::Open(Path());
  ASSERT_TRUE(file) << Why(file);
  EXPECT_EQ(CatchUp(*file), 2u);
  EXPECT_EQ(VerifyAuditLines(Contents())->at(ann_.str()).seq, 4);
}

TEST_F(AuditTrailTest, ATamperedFileIsRefused) {
  Append(ann_, 3);
  ASSERT_EQ(OpenAndCatchUp(), 3u);
  std::string text = Contents();
  text.replace(text.find("effect.started", text.find('\n')), 6, "affect");
  std::ofstream(Path()) << text;
  EXPECT_THAT(VerifyAuditLines(text).error().message(), HasSubstr("line 2"));
  EXPECT_FALSE(AuditFile::Open(Path()));
  EXPECT_FALSE(VerifyAuditLines("{}\n"));
  EXPECT_FALSE(VerifyAuditLines("x"));
}

TEST_F(AuditTrailTest, OnlyOneWritesAFile) {
  const auto first = AuditFile::Open(Path());
  ASSERT_TRUE(first);
  EXPECT_EQ(AuditFile::Open(Path()).error().code(), ErrorCode::kUnavailable);
}

TEST_F(AuditTrailTest, OneOwnersBrokenChainDoesNotHideTheOthers) {
  Append(ann_, 2);
  Append(bob_, 2);
  Tamper("UPDATE audit SET body = '{}' WHERE owner = '" + ann_.str() + "'");
  auto file = AuditFile::Open(Path());
  EXPECT_FALSE(Now(file->CatchUp(*store_)));
  const auto heads = VerifyAuditLines(Contents());
  EXPECT_THAT(*heads, SizeIs(1));
  EXPECT_EQ(heads->at(bob_.str()).seq, 2);
}

}  // namespace
}  // namespace caisson
