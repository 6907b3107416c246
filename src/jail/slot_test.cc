#include "jail/slot.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "base/unique_fd.h"

namespace {

// The amount by which the time of day is set back after the next reading. clock_gettime can only
// read globals.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
constinit std::chrono::seconds set_back_after_next_look{0};

}  // namespace

// Replaces the C library's function in this program, so that a test need not set the clock of the
// machine.
extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const long result = ::syscall(SYS_clock_gettime, clock, time);
  if (clock == CLOCK_REALTIME) {
    time->tv_sec += std::exchange(set_back_after_next_look, std::chrono::seconds(0)).count();
  }
  return static_cast<int>(result);
}

namespace caisson::jail {
namespace {

using std::chrono::steady_clock;

std::pair<std::int64_t, std::int64_t> Touch(const UniqueFd& file) {
  EXPECT_EQ(::futimens(file.get(), nullptr), 0);
  struct ::stat stat{};
  EXPECT_EQ(::fstat(file.get(), &stat), 0);
  return {stat.st_mtim.tv_sec, stat.st_mtim.tv_nsec};
}

TEST(AwaitNextTickTest, StampsAreLaterAfterwards) {
  const UniqueFd file(::memfd_create("stamped", MFD_CLOEXEC));  // In a tmpfs, like private files.
  ASSERT_TRUE(file.is_open());
  for (int i = 0; i < 20; ++i) {
    timespec now{};
    ASSERT_EQ(::clock_gettime(CLOCK_REALTIME, &now), 0);
    AwaitNextTick();
    EXPECT_GT(Touch(file), std::pair(std::int64_t{now.tv_sec}, std::int64_t{now.tv_nsec}));
  }
}

TEST(AwaitNextTickTest, ComesWhateverHappensToTheTimeOfDay) {
  set_back_after_next_look = std::chrono::minutes(1);
  const auto begun = steady_clock::now();
  AwaitNextTick();
  set_back_after_next_look = {};
  EXPECT_LT(steady_clock::now() - begun, std::chrono::seconds(30));
}

}  // namespace
}  // namespace caisson::jail
