// Branches of native sessions (ADR 37): a copy goes on where its source is, and neither sees the other again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/guest.h"

namespace caisson::testing {
namespace {

using ::testing::HasSubstr;

class BranchTest : public ::testing::Test {
 protected:
  static std::string Run(Guest& guest, const std::string& code, Limits limits = {}) {
    guest.Start({.code = code, .limits = limits}, AfterRun::kKeep);
    return ResultJson(guest.End());
  }
  static Guest Branch(Guest& guest, Engine& engine, Limits limits = {}) {
    auto saved = guest.TrySave(AfterSave::kKeep);
    EXPECT_TRUE(saved) << saved.error().message();
    auto copy = Guest::Restore(engine, *std::move(saved), limits);
    EXPECT_TRUE(copy) << copy.error().message();
    return *std::move(copy);
  }

  std::unique_ptr<NativeEngine> engine_ = StartNative();
};

TEST_F(BranchTest, GoesOnWithVariables) {
  Guest source = Guest::Open(*engine_);
  ASSERT_EQ(Run(source, "x = ['common']\n1"), "1");
  Guest branch = Branch(source, *engine_);
  EXPECT_EQ(Run(branch, "x.append('branch'); x"), R"(["common","branch"])");
  EXPECT_EQ(Run(source, "x.append('source'); x"), R"(["common","source"])");
}

}  // namespace
}  // namespace caisson::testing
