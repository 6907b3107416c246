#include "bench/cold.h"

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "jail/program.h"

namespace caisson::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kWarmUpRuns = 3;

Result<std::string> OutputOf(const std::vector<std::string>& argv, const std::string& input) {
  TRY_ASSIGN(jail::ProgramResult result, jail::RunProgram({.argv = argv, .input = input}));
  if (result.status == 0) return std::move(result.output);
  return Error(ErrorCode::kInternal,
               argv[0] + " ended with status " + std::to_string(result.status));
}

}  // namespace

std::optional<std::string> FindPython() {
  constexpr const char* kUsual = "/usr/bin/python3";
  if (::access(kUsual, X_OK) == 0) return kUsual;
  const char* path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): nobody sets it.
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const std::size_t end = rest.find(':');
    std::string candidate = std::string(rest.substr(0, end)) + "/python3";
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
    rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
  }
  return std::nullopt;
}

Result<std::string> PythonVersion(const std::string& python) {
  return OutputOf({python, "-I", "-c", "import platform; print(platform.python_version(), end='')"},
                  "");
}

Result<Samples> ColdStarts(const ColdPlan& plan) {
  Samples samples;
  for (int i = -kWarmUpRuns; i < plan.runs; ++i) {
    const auto begin = Clock::now();
    TRY_ASSIGN(const std::string output, OutputOf(plan.argv, plan.input));
    const std::chrono::duration<double, std::micro> took = Clock::now() - begin;
    if (output != plan.output) {
      return Error(ErrorCode::kInternal, plan.argv[0] + " printed \"" + output + "\"");
    }
    if (i >= 0) samples.push_back(took.count());
  }
  return samples;
}

}  // namespace caisson::bench
