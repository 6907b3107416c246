#include "bench/bench_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace caisson::bench {
namespace {

using testing::HasSubstr;

Report Sample() {
  return {.machine = {.cpu = "CPU",
                      .cores = 2,
                      .memory_bytes = 1024,
                      .kernel = "6.1",
                      .python = "",
                      .caisson = "0.1.0",
                      .tier = "namespace"},
          .metrics = {
              {.name = "wasm.fresh_run_us", .value = {.median = 25.12345, .p99 = 1250, .n = 100}}}};
}

TEST(ReportTest, JsonHasTheShapeOthersRelyOn) {
  EXPECT_EQ(ToJson(Sample()),
            R"({"machine":{"cpu":"CPU","cores":2,"memory_bytes":1024,"kernel":"6.1","python":null,)"
            R"("caisson":"0.1.0","tier":"namespace"},)"
            R"("metrics":{"wasm.fresh_run_us":{"median":25.123,"p99":1250.0,"n":100}}})");
}

TEST(ReportTest, SkippedMetricsAreListed) {
  Report report = Sample();
  report.skipped.push_back({.name = "python_cold_us", .why = "no python3"});
  EXPECT_THAT(ToJson(report), HasSubstr(R"("skipped":{"python_cold_us":"no python3"})"));
  EXPECT_THAT(ToTable(report), HasSubstr("left out: python_cold_us: no python3"));
}

TEST(ReportTest, TheTableShowsUnits) {
  EXPECT_THAT(ToTable(Sample()), HasSubstr("25.1 µs"));
  EXPECT_THAT(ToTable(Sample()), HasSubstr("1.25 ms"));
}

TEST(ReportTest, TheMachineIsKnown) {
  const Machine machine = ThisMachine();
  EXPECT_GE(machine.cores, 1u);
  EXPECT_GT(machine.memory_bytes, 0u);
  EXPECT_FALSE(machine.kernel.empty());
}

}  // namespace
}  // namespace caisson::bench
