#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace caisson {
namespace {

using testing::HasSubstr;

TEST(Log, ALineIsOneObjectWithAnyContents) {
  std::string lines;
  const ManualClock clock;
  Log log(clock, Log::Level::kWarning, [&](std::string_view line) { lines += line; });
  log.Write(Log::Level::kInfo, "quiet", {});
  log.Write(Log::Level::kError, "failed", {{"message", "a\n{\"b\"}\xff"}});
  EXPECT_EQ(lines,
            "{\"time\":\"2023-11-14T22:13:20.000Z\",\"level\":\"error\",\"event\":\"failed\","
            "\"message\":\"a\\n{\\\"b\\\"}\xef\xbf\xbd\"}\n");
}

TEST(Metrics, AreShownAsPrometheusReadsThem) {
  Metrics metrics(
      {{.name = "asked_total", .help = "Asked."}, {.name = "took_seconds", .help = "Took."}});
  EXPECT_EQ(metrics.Text(), "");
  metrics.Count("asked_total", {{"who", "a\"b\\c\nd"}});
  metrics.Count("asked_total", {{"who", "a\"b\\c\nd"}});
  metrics.Time("took_seconds", {}, std::chrono::milliseconds(2));
  metrics.Time("took_seconds", {}, std::chrono::seconds(1000));
  const std::string text = metrics.Text();
  EXPECT_THAT(text,
              HasSubstr("# TYPE asked_total counter\nasked_total{who=\"a\\\"b\\\\c\\nd\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("took_seconds_bucket{le=\"0.001\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("took_seconds_bucket{le=\"0.005\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("took_seconds_bucket{le=\"100\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("took_seconds_bucket{le=\"+Inf\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("took_seconds_sum 1000.002\ntook_seconds_count 2\n"));
}

}  // namespace
}  // namespace caisson
