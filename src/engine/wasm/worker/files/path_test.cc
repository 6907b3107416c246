#include "engine/wasm/worker/files/path.h"

#include <gtest/gtest.h>

#include <string>

namespace caisson::worker {
namespace {

using namespace std::string_literals;

TEST(Path, RefusesWhatNoPathCanBe) {
  EXPECT_EQ(CheckPath(""), Errno::kNoent);
  EXPECT_EQ(CheckPath("a\0b"s), Errno::kInval);
  EXPECT_EQ(CheckPath(std::string(kMaxPathBytes, 'a')), Errno::kSuccess);
  EXPECT_EQ(CheckPath(std::string(kMaxPathBytes + 1, 'a')), Errno::kNametoolong);
}

TEST(Path, TakesUtf8OnlyAsItIsDefined) {
  for (const char* good : {"a", "plain ascii, long enough", "ä", "€", "\xF0\x9F\x90\x8D",
                           "12345678é", "\xED\x9F\xBF", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_EQ(CheckPath(good), Errno::kSuccess) << good;
  }
  for (const char* bad :
       {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xED\xA0\x80", "\xE2\x82",
        "\xF0\x80\x80\x80", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF", "12345678\xC3"}) {
    EXPECT_EQ(CheckPath(bad), Errno::kIlseq) << bad;
  }
}

TEST(Path, KnowsAnEntryName) {
  EXPECT_TRUE(IsEntryName("a"));
  EXPECT_TRUE(IsEntryName("..."));
  EXPECT_TRUE(IsEntryName(std::string(kMaxNameBytes, 'a')));
  EXPECT_FALSE(IsEntryName(std::string(kMaxNameBytes + 1, 'a')));
  for (const std::string& bad : {""s, "."s, ".."s, "a/b"s, "/"s, "a\0"s, "\xFF"s}) {
    EXPECT_FALSE(IsEntryName(bad)) << bad;
  }
}

TEST(Path, FallsIntoItsComponents) {
  std::string_view rest = "//a///b/./..//";
  EXPECT_EQ(TakeComponent(rest), "a");
  EXPECT_EQ(TakeComponent(rest), "b");
  EXPECT_EQ(TakeComponent(rest), ".");
  EXPECT_EQ(TakeComponent(rest), "..");
  EXPECT_EQ(rest, "");
  EXPECT_EQ(TakeComponent(rest), "");
}

}  // namespace
}  // namespace caisson::worker
