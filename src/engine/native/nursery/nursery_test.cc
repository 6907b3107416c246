// A real nursery, driven over its control socket: as root and as an ordinary user (main, at the end).
#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>

#include "engine/native/nursery/testing/driver.h"

namespace caisson::nursery {
namespace {

using jail::Tier;
using testing::HasSubstr;

constexpr uid_t kNobody = 65534;

class NurseryTest : public testing::TestWithParam<Tier> {
 protected:
  static std::unique_ptr<Driver> StartNursery(Tier tier, std::vector<std::string> arguments = {}) {
    auto driver = Driver::Start(tier, arguments);
    EXPECT_TRUE(driver) << driver.error().message();
    return driver ? std::make_unique<Driver>(*std::move(driver)) : nullptr;
  }

  // One run in a fresh cell of a nursery without preloaded packages.
  RunEnd Run(const std::string& code, const RunOptions& options = {}, const Answerer& answer = {}) {
    if (!driver_) driver_ = StartNursery(GetParam());
    DrivenCell cell = driver_->Make();
    EXPECT_TRUE(cell.prepared) << cell.failed;
    if (!cell.prepared) return {.lost = true};
    return cell.Run(code, options, answer);
  }

  std::unique_ptr<Driver> driver_;
};

INSTANTIATE_TEST_SUITE_P(Tiers, NurseryTest, testing::Values(Tier::kNamespace, Tier::kLandlock),
                         [](const auto& info) { return std::string(jail::ToString(info.param)); });

TEST_P(NurseryTest, RunsCode) {
  EXPECT_EQ(Run("1+1").Result(), "2");
}

}  // namespace
}  // namespace caisson::nursery

// Every test as root and then, where the test is root, as an ordinary user.
int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (::getuid() == 0) {
    const pid_t ordinary = ::fork();
    if (ordinary == 0) {
      using caisson::nursery::kNobody;
      if (::setgroups(0, nullptr) != 0 || ::setresgid(kNobody, kNobody, kNobody) != 0 ||
          ::setresuid(kNobody, kNobody, kNobody) != 0) {
        return 2;
      }
      ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);  // As after a login; changing ids cleared it.
      return RUN_ALL_TESTS();
    }
    int status = 0;
    ::waitpid(ordinary, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return 1;
  }
  return RUN_ALL_TESTS();
}
