#include "model/retry.h"

#include <gtest/gtest.h>

namespace caisson::model {
namespace {

using namespace std::chrono_literals;

HttpResponse With(HttpHeaders headers, int status = 429) {
  return {.status = status, .headers = std::move(headers)};
}

// Sun, 06 Nov 1994 08:49:37 GMT
const SystemTime kNow{std::chrono::seconds(784'111'777)};

TEST(RetryTest, ReadsEachFormOfTheWait) {
  EXPECT_EQ(AskedWait(With({{"retry-after", "7"}}), kNow), 7s);
  EXPECT_EQ(AskedWait(With({{"retry-after", "0.5"}}), kNow), 500ms);
  EXPECT_EQ(AskedWait(With({{"retry-after", "7"}, {"retry-after-ms", "30"}}), kNow), 30ms);
  EXPECT_EQ(AskedWait(With({{"retry-after", "Sun, 06 Nov 1994 08:49:40 GMT"}}), kNow), 3s);
  EXPECT_EQ(AskedWait(With({{"retry-after", "Sun, 06 Nov 1994 08:00:00 GMT"}}), kNow), 0s);
}

TEST(RetryTest, IgnoresAWaitThatIsNotValid) {
  for (const char* const text :
       {"", "-1", "nan", "inf", "7 s", "1e999", "soon", "Sun, 31 Feb 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:3x GMT"}) {
    EXPECT_EQ(AskedWait(With({{"retry-after", text}}), kNow), std::nullopt) << text;
  }
  EXPECT_EQ(AskedWait(With({}), kNow), std::nullopt);
}

TEST(RetryTest, AHugeWaitDoesNotOverflow) {
  EXPECT_EQ(AskedWait(With({{"retry-after", "1e300"}}), kNow), 24h);
}

TEST(RetryTest, SomeStatusesAreWorthRepeating) {
  for (const int status : {408, 409, 429, 500, 503, 529}) {
    EXPECT_TRUE(IsWorthRepeating(With({}, status))) << status;
    EXPECT_FALSE(IsWorthRepeating(With({{"x-should-retry", "false"}}, status))) << status;
  }
  for (const int status : {302, 400, 401, 403, 404, 422}) {
    EXPECT_FALSE(IsWorthRepeating(With({}, status))) << status;
    EXPECT_TRUE(IsWorthRepeating(With({{"x-should-retry", "true"}}, status))) << status;
  }
}

TEST(RetryTest, TheUsualWaitGrowsToABound) {
  EXPECT_EQ(UsualWait(1, 0), 500ms);
  EXPECT_EQ(UsualWait(2, 0), 1000ms);
  EXPECT_EQ(UsualWait(2, 1), 750ms);
  EXPECT_EQ(UsualWait(9, 0), 8000ms);
}

}  // namespace
}  // namespace caisson::model
