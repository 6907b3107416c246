#include "jail/program.h"

#include <gtest/gtest.h>

namespace caisson::jail {
namespace {

using std::chrono::milliseconds;

TEST(ProgramTest, GivesOutputAndStatus) {
  const auto result = RunProgram({.argv = {"/bin/sh", "-c", "echo out; exit 3"}});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->status, 3);
  EXPECT_EQ(result->output, "out\n");
}

TEST(ProgramTest, GivesItsInputToTheProgram) {
  const std::string much(300'000, 'x');  // More than a pipe holds.
  const auto result = RunProgram({.argv = {"/bin/cat"}, .input = much});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->output, much);
}

// I1.
TEST(ProgramTest, TheEnvironmentIsEmpty) {
  const auto result = RunProgram({.argv = {"/usr/bin/env"}});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->output, "");
}

TEST(ProgramTest, TellsTheSignalThatEndedIt) {
  const auto result = RunProgram({.argv = {"/bin/sh", "-c", "kill -9 $$"}});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->status, 128 + 9);
}

TEST(ProgramTest, EndsAProgramThatDoesNotEnd) {
  const auto result = RunProgram({.argv = {"/bin/cat", "/dev/zero"}});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), ErrorCode::kResourceExhausted);
  const auto silent =
      RunProgram({.argv = {"/bin/sh", "-c", "while :; do :; done"}, .within = milliseconds(50)});
  ASSERT_FALSE(silent);
  EXPECT_EQ(silent.error().code(), ErrorCode::kDeadlineExceeded);
}

TEST(ProgramTest, AMissingProgramIsNamed) {
  const auto result = RunProgram({.argv = {"/no/such/program"}});
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message().find("/no/such/program"), std::string::npos);
}

}  // namespace
}  // namespace caisson::jail
