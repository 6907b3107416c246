#include "base/low_priority_pool.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <array>
#include <cerrno>
#include <string>
#include <thread>

#include "base/run_here.h"

namespace caisson {
namespace {

struct Seen {
  std::thread::id thread;
  std::string name{};
  int nice = 0;
};

Seen Look() {
  Seen seen{.thread = std::this_thread::get_id()};
  std::array<char, 16> name{};
  ::pthread_getname_np(::pthread_self(), name.data(), name.size());
  seen.name = name.data();
  seen.nice = ::getpriority(PRIO_PROCESS, 0);
  return seen;
}

TEST(LowPriorityPoolTest, LargeMessagesAreReadOnANamedThreadOfLowerPriority) {
  LowPriorityPool pool("parse", 1, 5);
  const Seen here = Look();
  const Seen there =
      RunHere(CallAside(pool.executor(), kSmallMessageBytes + 1, [] { return Look(); }));
  EXPECT_NE(there.thread, here.thread);
  EXPECT_EQ(there.name, "parse0");
  EXPECT_EQ(there.nice, std::min(here.nice + 5, 19));
}

TEST(LowPriorityPoolTest, SmallMessagesAndThoseWithoutAPoolAreReadHere) {
  LowPriorityPool pool("parse", 1, 5);
  const auto here = std::this_thread::get_id();
  EXPECT_EQ(RunHere(CallAside(pool.executor(), 100, [] { return Look(); })).thread, here);
  EXPECT_EQ(RunHere(CallAside(std::nullopt, 1u << 20, [] { return Look(); })).thread, here);
}

}  // namespace
}  // namespace caisson
