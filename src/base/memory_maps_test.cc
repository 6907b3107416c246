#include "base/memory_maps.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace caisson {
namespace {

TEST(MemoryMapsTest, ALineIsAMapping) {
  const auto maps = ParseMemoryMaps(
      "55d0c0a00000-55d0c0a21000 rw-p 00001000 fd:01 42                 /usr/lib/a b.so (deleted)\n"
      "7ffd0f1d0000-7ffd0f1f1000 rw-s 00000000 00:00 0 \n");
  ASSERT_TRUE(maps);
  ASSERT_EQ(maps->size(), 2u);
  const MemoryMapping& file = maps->front();
  EXPECT_EQ(file.begin, 0x55d0c0a00000u);
  EXPECT_EQ(file.size(), 0x21000u);
  EXPECT_EQ(file.access, "rw-p");
  EXPECT_EQ(file.offset, 0x1000u);
  EXPECT_EQ(file.device, std::uint64_t{0xfd} << 32 | 1);
  EXPECT_EQ(file.inode, 42u);
  EXPECT_EQ(file.path, "/usr/lib/a b.so (deleted)");
  EXPECT_EQ(maps->back().inode, 0u);
  EXPECT_EQ(maps->back().path, "");
}

TEST(MemoryMapsTest, OwnMappingsAreRead) {
  std::ifstream file("/proc/self/maps");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto maps = ParseMemoryMaps(text);
  ASSERT_TRUE(maps) << text;
  EXPECT_GT(maps->size(), 5u);
}

TEST(MemoryMapsTest, MalformedLinesAreRefused) {
  EXPECT_FALSE(ParseMemoryMaps("x"));
  EXPECT_FALSE(ParseMemoryMaps("1000-2000"));
  EXPECT_FALSE(ParseMemoryMaps("2000-1000 rw-p 0 0:0 0 \n"));
  EXPECT_TRUE(ParseMemoryMaps(""));
}

}  // namespace
}  // namespace caisson
