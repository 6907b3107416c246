#include "bench/library_door.h"

#include <chrono>
#include <utility>

#include "server/host.h"

namespace caisson::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kWarmUpRuns = 50;

}  // namespace

Result<Samples> LibraryRuns(const LibraryPlan& plan) {
  CodeServiceOptions code;
  code.backend.engine = plan.engine;
  code.backend.tier = plan.tier;
  code.backend.installation = plan.installation;
  TRY_ASSIGN(const auto host,
             Host::Open({.code = std::move(code), .keeps = HostOptions::Keeps::kNothing}));
  Samples samples;
  for (int i = -kWarmUpRuns; i < plan.runs; ++i) {
    const auto begin = Clock::now();
    TRY_ASSIGN(const CodeRun run, host->Run("1+" + std::to_string(i)));
    const std::chrono::duration<double, std::micro> took = Clock::now() - begin;
    if (run.outcome.result != Value(std::int64_t{1 + i})) {
      return Error(ErrorCode::kInternal, "a wrong answer: " + ToJson(run.outcome, FileData::kOmit));
    }
    if (i >= 0) samples.push_back(took.count());
  }
  return samples;
}

}  // namespace caisson::bench
