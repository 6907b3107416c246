// Runs the suites again without privileges. If this is not root, they already run that way.
#include "tests/integration/ordinary_user.h"

#include <gtest/gtest.h>

namespace caisson::testing {
namespace {

TEST(OrdinaryUserTest, TheSuitesPassAsNobody) {
  ExpectPassAsNobody(
      "EngineTest.*:ToolsTest.*:SessionsTest.*:BranchTest.*:SaveTest.ARestored*:NativeTest.*:"
      "MountsTest.*:"
      "NativeMountsTest.*:DifferencesTest.*:"
      "IsolationTest.AnEngineLeavesNothing/*");
}

}  // namespace
}  // namespace caisson::testing
