#include "engine/limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace caisson {
namespace {

using ::testing::HasSubstr;

TEST(LimitsTest, SetsEveryNamedLimit) {
  Limits limits;
  for (const char* name :
       {"memory_bytes", "processes", "open_files", "code_bytes", "stdout_bytes", "stderr_bytes",
        "result_bytes", "file_bytes", "total_file_bytes", "files", "tool_calls"}) {
    EXPECT_TRUE(SetLimit(limits, name, "3")) << name;
  }
  EXPECT_EQ(limits.memory_bytes, 3u);
  EXPECT_EQ(limits.processes, 3u);
  EXPECT_EQ(limits.open_files, 3u);
  EXPECT_EQ(limits.code_bytes, 3u);
  EXPECT_EQ(limits.stdout_bytes, 3u);
  EXPECT_EQ(limits.stderr_bytes, 3u);
  EXPECT_EQ(limits.result_bytes, 3u);
  EXPECT_EQ(limits.file_bytes, 3u);
  EXPECT_EQ(limits.total_file_bytes, 3u);
  EXPECT_EQ(limits.files, 3u);
  EXPECT_EQ(limits.tool_calls, 3u);
}

TEST(LimitsTest, SecondsTakeDecimals) {
  Limits limits;
  ASSERT_TRUE(SetLimit(limits, "wall_seconds", "0.25"));
  EXPECT_EQ(limits.wall_time, std::chrono::milliseconds(250));
  ASSERT_TRUE(SetLimit(limits, "cpu_seconds", "3e1"));
  EXPECT_EQ(limits.cpu_time, std::chrono::seconds(30));
}

TEST(LimitsTest, RefusesWhatIsNoPositiveNumber) {
  Limits limits;
  for (const char* value : {"", "0", "-1", "nan", "NaN", "inf", "1e", "1e-3", " 1", "1 ", "0x10",
                            "+1", "ten", "0.0", "1.5.2", ".", "0.00000000001"}) {
    EXPECT_FALSE(SetLimit(limits, "wall_seconds", value)) << value;
  }
  for (const char* value : {"", "0", "-1", "1.5", "nan", "1k", " 1", "1 ", "+1", "0x10"}) {
    EXPECT_FALSE(SetLimit(limits, "memory_bytes", value)) << value;
  }
  EXPECT_EQ(limits.wall_time, Limits().wall_time);
}

TEST(LimitsTest, AnUnknownNameListsTheKnownOnes) {
  Limits limits;
  auto refused = SetLimit(limits, "wall", "1");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("wall_seconds cpu_seconds memory_bytes"));
}

TEST(LimitsTest, AValueAboveTheCeilingIsRefusedWithTheMaximum) {
  EXPECT_TRUE(CheckLimits(Limits(), DefaultCeiling()));
  EXPECT_TRUE(CheckLimits(DefaultCeiling(), DefaultCeiling()));
  Limits limits;
  ASSERT_TRUE(SetLimit(limits, "wall_seconds", "300.5"));
  auto refused = CheckLimits(limits, DefaultCeiling());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(),
            "wall_seconds: 300.5 is not allowed; the maximum is 300 (limits.max.wall_seconds)");
  limits = {};
  ASSERT_TRUE(SetLimit(limits, "memory_bytes", "99999999999999999999999999"));
  EXPECT_THAT(CheckLimits(limits, DefaultCeiling()).error().message(),
              HasSubstr("the maximum is 4294901760"));
  limits = {};
  ASSERT_TRUE(SetLimit(limits, "wall_seconds", "99999999999999999999999999"));
  EXPECT_FALSE(CheckLimits(limits, DefaultCeiling()));
  limits = {.files = 0};
  EXPECT_FALSE(CheckLimits(limits, DefaultCeiling()));
}

}  // namespace
}  // namespace caisson
