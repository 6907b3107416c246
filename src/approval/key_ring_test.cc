#include "approval/key_ring.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

namespace caisson {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const std::string kOld(64, 'a');
const std::string kNew(64, 'b');

class KeyFileTest : public testing::Test {
 protected:
  KeyFileTest() {
    std::string pattern = std::filesystem::temp_directory_path() / "caisson-keys-XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
  }
  ~KeyFileTest() override { std::filesystem::remove_all(directory_); }

  std::string Path() const { return directory_ / "keys"; }
  void Write(const std::string& text, mode_t mode = 0600) {
    std::ofstream(Path()) << text;
    ::chmod(Path().c_str(), mode);
  }
  std::size_t Files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(directory_),
                                                  std::filesystem::directory_iterator()));
  }

  std::filesystem::path directory_;
};

SealBinding Binding() {
  return {.owner = OwnerId("owner"), .run = "run_1", .call_seq = 3};
}

TEST(KeyRingTest, TheNewestSealsAndAllOpen) {
  const KeyRing old = *KeyRing::Parse(kOld);
  const KeyRing both = *KeyRing::Parse(kOld + "\n" + kNew + "\n");
  const KeyRing fresh = *KeyRing::Parse(kNew);
  const std::string before = *old.Seal(KeyPurpose::kCheckpoint, "ann", "text");
  EXPECT_EQ(*both.Open(KeyPurpose::kCheckpoint, "ann", before), "text");
  const std::string after = *both.Seal(KeyPurpose::kCheckpoint, "ann", "text");
  EXPECT_EQ(*fresh.Open(KeyPurpose::kCheckpoint, "ann", after), "text");
  EXPECT_EQ(fresh.Open(KeyPurpose::kCheckpoint, "ann", before).error().code(),
            ErrorCode::kFailedPrecondition);
  EXPECT_THAT(both.Ids(), ElementsAre(fresh.Ids()[0], old.Ids()[0]));
  EXPECT_EQ(old.Ids()[0].size(), 16u);
}

TEST(KeyRingTest, PurposesAndBindingsAreKeptApart) {
  const KeyRing ring = KeyRing::Generate();
  const std::string sealed = *ring.Seal(KeyPurpose::kRequestState, "ann", "text");
  EXPECT_TRUE(ring.Open(KeyPurpose::kRequestState, "ann", sealed));
  EXPECT_EQ(ring.Open(KeyPurpose::kCheckpoint, "ann", sealed).error().code(),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(ring.Open(KeyPurpose::kRequestState, "bob", sealed).error().code(),
            ErrorCode::kInvalidArgument);
  EXPECT_FALSE(ring.Open(KeyPurpose::kRequestState, "ann", ""));
  EXPECT_FALSE(ring.Open(KeyPurpose::kRequestState, "ann", sealed.substr(0, 8)));
}

TEST(KeyRingTest, CellsAreSealedWithTheRing) {
  const KeyRing old = *KeyRing::Parse(kOld);
  const KeyRing both = *KeyRing::Parse(kOld + "," + kNew);
  const std::string sealed = *old.SealCell(Binding(), {"stack"});
  EXPECT_EQ(both.OpenCell(Binding(), sealed)->bytes, "stack");
  SealBinding other = Binding();
  other.run = "run_2";
  EXPECT_EQ(both.OpenCell(other, sealed).error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(KeyRing::Generate().OpenCell(Binding(), sealed).error().code(),
            ErrorCode::kFailedPrecondition);
  // Data sealed as a cell does not open as anything else.
  EXPECT_FALSE(both.Open(KeyPurpose::kCheckpoint, "", sealed));
}

TEST(KeyRingTest, MistakesAreNamedWithoutTheSecret) {
  const auto wrong = KeyRing::Parse("# ours\n" + kOld + "\n" + kNew.substr(1) + "\n");
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message(), HasSubstr("line 3"));
  EXPECT_THAT(wrong.error().message(), Not(HasSubstr("bbb")));
  EXPECT_FALSE(KeyRing::Parse(""));
  EXPECT_FALSE(KeyRing::Parse("# nothing\n"));
  EXPECT_FALSE(KeyRing::Parse(kOld + "\n" + kOld));
}

TEST_F(KeyFileTest, TheFirstStartMakesAFileForItsOwnerAlone) {
  const auto made = KeyRing::LoadOrCreate(Path());
  ASSERT_TRUE(made) << made.error().message();
  struct stat status{};
  ASSERT_EQ(::stat(Path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_EQ(KeyRing::LoadOrCreate(Path())->Ids(), made->Ids());
  EXPECT_EQ(Files(), 1u);
}

TEST_F(KeyFileTest, ProcessesThatStartTogetherGetTheSameKey) {
  std::vector<std::string> ids(8);
  std::vector<std::thread> starters;
  for (std::string& id : ids) {
    starters.emplace_back([&] {
      const auto ring = KeyRing::LoadOrCreate(Path());
      if (ring) id = ring->Ids()[0];
    });
  }
  for (std::thread& starter : starters) starter.join();
  EXPECT_THAT(ids, testing::Each(KeyRing::Load(Path())->Ids()[0]));
  EXPECT_EQ(Files(), 1u);
}

TEST_F(KeyFileTest, KeysThatOthersCanReadOrChangeAreRefused) {
  for (const mode_t mode : {0644u, 0604u, 0620u, 0602u}) {
    Write(kOld, mode);
    EXPECT_EQ(KeyRing::LoadOrCreate(Path()).error().code(), ErrorCode::kFailedPrecondition) << mode;
  }
  Write(kOld, 0440);
  EXPECT_TRUE(KeyRing::Load(Path()));
}

TEST_F(KeyFileTest, FilesThatAreNotKeyFilesAreRefused) {
  EXPECT_FALSE(KeyRing::Load(Path()));
  EXPECT_FALSE(KeyRing::Load(directory_));
  EXPECT_THAT(KeyRing::Load(Path() + ".none").error().message(),
              testing::HasSubstr("openssl rand -hex 32"));
  ASSERT_EQ(::mkfifo(Path().c_str(), 0600), 0);
  EXPECT_FALSE(KeyRing::Load(Path()));
  std::filesystem::remove(Path());
  Write(std::string(100'000, '#'));
  EXPECT_FALSE(KeyRing::Load(Path()));
  EXPECT_FALSE(KeyRing::LoadOrCreate(directory_ / "no" / "such" / "keys"));
}

}  // namespace
}  // namespace caisson
