#include "engine/wasm/worker/files/file_contents.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "engine/wasm/worker/files/library_fixture.h"

namespace caisson::worker {
namespace {

std::string All(const FileContents& contents) {
  std::string out(contents.size(), '?');
  const std::size_t read =
      contents.Read(0, {reinterpret_cast<std::uint8_t*>(out.data()), out.size()});
  out.resize(read);
  return out;
}

TEST(FileContents, ReadsBackWhatWasWritten) {
  FileContents contents;
  contents.Write(0, BytesOf("hello"));
  contents.Write(3, BytesOf("LOW"));
  EXPECT_EQ(All(contents), "helLOW");
  std::uint8_t one = 7;
  EXPECT_EQ(contents.Read(6, {&one, 1}), 0U);
  EXPECT_EQ(contents.Read(~std::uint64_t{0}, {&one, 1}), 0U);
  EXPECT_EQ(one, 7);
}

TEST(FileContents, AGapReadsAsZerosAndStoresNothing) {
  FileContents contents;
  contents.Write(10 * FileContents::kChunkBytes, BytesOf("x"));
  EXPECT_EQ(contents.size(), 10 * FileContents::kChunkBytes + 1);
  EXPECT_EQ(All(contents), std::string(10 * FileContents::kChunkBytes, '\0') + "x");
  for (std::size_t i = 0; i < 10; ++i) EXPECT_TRUE(contents.chunk(i).empty());
}

TEST(FileContents, TruncatedBytesDoNotComeBack) {
  FileContents contents;
  contents.Write(0, BytesOf("secret"));
  contents.Resize(2);
  contents.Resize(6);
  EXPECT_EQ(All(contents), std::string("se\0\0\0\0", 6));
}

TEST(FileContents, SharedBytesAreCopiedBeforeAChange) {
  const auto given = std::make_shared<const std::string>("given");
  FileContents contents;
  contents.Share(given);
  EXPECT_EQ(All(contents), "given");
  EXPECT_TRUE(contents.Unshare(given->size()));
  contents.Write(0, BytesOf("G"));
  EXPECT_EQ(All(contents), "Given");
  EXPECT_EQ(*given, "given");
}

TEST(FileContents, SharedBytesAreCopiedSliceBySlice) {
  const auto given = std::make_shared<const std::string>(200'000, 'x');
  FileContents contents;
  contents.Share(given);
  EXPECT_FALSE(contents.Unshare(99'999));
  EXPECT_TRUE(contents.shared());
  EXPECT_EQ(All(contents), *given);
  EXPECT_FALSE(contents.Unshare(99'999));
  EXPECT_TRUE(contents.Unshare(99'999));
  EXPECT_FALSE(contents.shared());
  EXPECT_EQ(All(contents), *given);
}

TEST(FileContents, ACopyInTheMakingIsDroppedWithTheRest) {
  FileContents contents;
  contents.Share(std::make_shared<const std::string>("given"));
  EXPECT_FALSE(contents.Unshare(2));
  contents.Clear();
  contents.Write(0, BytesOf("own"));
  EXPECT_EQ(All(contents), "own");
}

TEST(FileContents, BehavesLikeAStringUnderRandomChanges) {
  std::mt19937 random(1);
  FileContents contents;
  std::string model;
  for (int step = 0; step < 2000; ++step) {
    const std::size_t at = random() % (3 * FileContents::kChunkBytes);
    if (random() % 4 == 0) {
      contents.Resize(at);
      model.resize(at);
    } else {
      const std::string data(random() % 5000 + 1, static_cast<char>(random()));
      contents.Write(at, BytesOf(data));
      model.resize(std::max(model.size(), at + data.size()));
      model.replace(at, data.size(), data);
    }
    ASSERT_EQ(contents.size(), model.size());
    if (step % 20 == 0) ASSERT_EQ(All(contents), model);
  }
}

}  // namespace
}  // namespace caisson::worker
