#include "bench/compute.h"

#include <charconv>
#include <chrono>
#include <string_view>
#include <utility>

#include "bench/compute_programs.h"
#include "bench/lane_work.h"
#include "jail/program.h"

namespace caisson::bench {
namespace {

struct Timed {
  double seconds = 0;
  std::string answer;
};

// Prints the seconds of the work and its result.
std::string CodeOf(const ComputeProgram& program) {
  std::string code = "from time import process_time as _clock\n";
  code += program.prepare;
  code += "\n_begin = _clock()\n";
  code += program.work;
  code += "\n_took = _clock() - _begin\nprint(_took, answer)\n";
  return code;
}

Result<Timed> ParseTimed(std::string_view output) {
  Timed timed;
  const auto parsed = std::from_chars(output.data(), output.data() + output.size(), timed.seconds);
  if (parsed.ec != std::errc() || timed.seconds <= 0) {
    return Error(ErrorCode::kInternal, "a program printed \"" + std::string(output) + "\"");
  }
  timed.answer = std::string(parsed.ptr, output.data() + output.size());
  return timed;
}

Result<Timed> InCell(WasmEngine& engine, const ComputeProgram& program) {
  RunRequest request{.code = CodeOf(program)};
  request.limits.wall_time = request.limits.cpu_time = std::chrono::seconds(60);
  TRY_ASSIGN(const Outcome outcome, OnLane(engine, 0, RunFresh(engine, std::move(request))));
  if (outcome.status != RunStatus::kCompleted) {
    return Error(ErrorCode::kInternal,
                 "a program failed: " + caisson::ToJson(outcome, FileData::kOmit));
  }
  return ParseTimed(outcome.stdout_text);
}

Result<Timed> InPython(const std::string& python, const ComputeProgram& program) {
  TRY_ASSIGN(const jail::ProgramResult result,
             jail::RunProgram({.argv = {python, "-I", "-c", CodeOf(program)}}));
  return ParseTimed(result.output);
}

Result<double> Ratio(WasmEngine& engine, const std::string& python, const ComputeProgram& program) {
  TRY_ASSIGN(const Timed ours, InCell(engine, program));
  TRY_ASSIGN(const Timed theirs, InPython(python, program));
  if (ours.answer != theirs.answer) {
    return Error(ErrorCode::kInternal, std::string(program.name) + " gave" + ours.answer +
                                           " in a cell and" + theirs.answer + " in " + python);
  }
  return ours.seconds / theirs.seconds;
}

}  // namespace

Result<Compute> CompareWithPython(WasmEngine& engine, const std::string& python, int rounds) {
  Compute compute;
  for (const ComputeProgram& program : ComputePrograms()) {
    compute.programs.push_back({.name = std::string(program.name)});
  }
  for (int round = 0; round < rounds; ++round) {
    Samples ratios;
    for (std::size_t i = 0; i < compute.programs.size(); ++i) {
      TRY_ASSIGN(const double ratio, Ratio(engine, python, ComputePrograms()[i]));
      ratios.push_back(ratio);
      compute.programs[i].ratios.push_back(ratio);
    }
    compute.geometric_means.push_back(GeometricMean(ratios));
  }
  return compute;
}

}  // namespace caisson::bench
