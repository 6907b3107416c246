// The suites again without privileges. Not as root, they run that way already.
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
