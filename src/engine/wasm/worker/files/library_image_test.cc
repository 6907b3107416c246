#include "engine/wasm/worker/files/library_image.h"

#include <gtest/gtest.h>

#include <random>

#include "engine/wasm/worker/files/library_fixture.h"

namespace caisson::worker {
namespace {

std::vector<std::string> Children(const LibraryImage& library, std::string_view directory) {
  std::vector<std::string> names;
  auto child = library.NextChild(directory, library.FirstChildPosition(directory));
  while (child != LibraryIndex::kNone) {
    names.emplace_back(library.At(child)->path);
    child = library.NextChild(directory, static_cast<std::uint32_t>(child) + 1);
  }
  return names;
}

class LibraryImageTest : public testing::Test {
 protected:
  LibraryImageTest()
      : packed_(PackLibrary({{"lib/json.py", "J"},
                             {"lib/json/a.py", "A"},
                             {"lib/json/deep/b.py", "B"},
                             {"lib/json0", "0"},
                             {"lib/zoo.py", "zoo"},
                             {"top", ""}})),
        library_(*LibraryImage::Parse(BytesOf(packed_))) {}

  std::string packed_;
  LibraryImage library_;
};

TEST_F(LibraryImageTest, FindsFilesAndDirectories) {
  const auto zoo = library_.At(library_.Find("lib/zoo.py"));
  ASSERT_TRUE(zoo);
  EXPECT_EQ(zoo->contents.size(), 3U);
  EXPECT_EQ(library_.At(library_.Find("lib/json"))->kind, LibraryImage::Kind::kDirectory);
  EXPECT_EQ(library_.At(library_.Find("top"))->contents.size(), 0U);
  EXPECT_EQ(library_.Find(""), LibraryIndex::kRoot);
  for (const char* missing : {"lib/", "lib/jso", "lib/json/", "a", "zzz", "/lib", "lib/zoo.pyc"}) {
    EXPECT_EQ(library_.Find(missing), LibraryIndex::kNone) << missing;
  }
}

TEST_F(LibraryImageTest, ListsADirectoryWithoutWhatIsDeeper) {
  EXPECT_EQ(Children(library_, ""), (std::vector<std::string>{"lib", "top"}));
  EXPECT_EQ(Children(library_, "lib"),
            (std::vector<std::string>{"lib/json", "lib/json.py", "lib/json0", "lib/zoo.py"}));
  EXPECT_EQ(Children(library_, "lib/json"),
            (std::vector<std::string>{"lib/json/a.py", "lib/json/deep"}));
  EXPECT_TRUE(Children(library_, "top").empty());
}

TEST_F(LibraryImageTest, RefusesWhatIsNotAnImage) {
  EXPECT_FALSE(LibraryImage::Parse({}));
  EXPECT_FALSE(LibraryImage::Parse(BytesOf("CAISLIB1")));
  EXPECT_FALSE(LibraryImage::Parse(BytesOf(packed_).first(30)));
  std::string other = packed_;
  other[0] = 'X';
  EXPECT_FALSE(LibraryImage::Parse(BytesOf(other)));
}

TEST_F(LibraryImageTest, DamagedTablesNeverLeadOutside) {
  std::mt19937 random(2);
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = packed_;
    for (int i = 0; i < 4; ++i) damaged[8 + random() % 200] = static_cast<char>(random());
    const auto library = LibraryImage::Parse(BytesOf(damaged));
    if (!library) continue;
    Children(*library, "");
    Children(*library, "lib");
    for (const char* path : {"lib/json/a.py", "lib/zoo.py", "top"}) {
      if (const auto entry = library->At(library->Find(path))) {
        for (const std::uint8_t byte : entry->contents) (void)byte;
      }
    }
  }
}

}  // namespace
}  // namespace caisson::worker
