#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "bench/bench.h"
#include "cli/code_flags.h"
#include "cli/commands.h"
#include "cli/exit_status.h"
#include "cli/output.h"
#include "cli/tell.h"
#include "server/backends.h"

namespace caisson::cli {
namespace {

struct BenchFlags {
  bool json = false;
  bool quick = false;
  std::string only;
  std::string tier;
  std::string installation;
};

constexpr std::string_view kClearLine = "\r\x1b[K";

// Returns the path of this program, to start it cold; empty if /proc does not have it.
std::string OwnProgram() {
  std::error_code failed;
  return std::filesystem::read_symlink("/proc/self/exe", failed).string();
}

int RunBench(const BenchFlags& flags) {
  Output out = Output::Stdout();
  Output err = Output::Stderr();
  bench::Options options{.tier = flags.tier.empty() ? std::string(kDefaultTier) : flags.tier,
                         .installation = flags.installation,
                         .program = OwnProgram(),
                         .quick = flags.quick,
                         .only = flags.only};
  if (err.is_terminal()) {
    options.progress = [&](std::string_view name) {
      err.Write(std::string(kClearLine) + "measuring " + std::string(name) + " ...");
    };
  }
  const auto report = bench::Measure(options);
  if (err.is_terminal()) err.Write(kClearLine);
  if (!report) {
    err.Write("caisson: " + report.error().message() + "\n");
    return ExitStatus(report.error().code());
  }
  out.Write(flags.json ? ToJson(*report) + "\n" : ToTable(*report));
  return AfterWriting(out, kExitCompleted);
}

}  // namespace

void AddBenchCommand(Command program) {
  auto flags = std::make_shared<BenchFlags>();  // Shared by the parser and the callback.
  Command command = program.AddSubcommand("bench", "Measure speed and memory on this machine");
  command.SetFooter(
      "Runs go through jailed workers with every check on. On an otherwise idle machine it takes "
      "about a\n"
      "minute; other work on the same cores shows in the numbers.");
  command.AddFlag("--json", flags->json, "Print one line of JSON");
  command.AddFlag("--quick", flags->quick, "Take fewer samples: seconds instead of a minute");
  command.AddOption("--only", flags->only, "Measure only metrics whose name begins with this",
                    {.value = "PREFIX"});
  AddTierFlag(command, flags->tier);
  command.AddOption("--worker-dir", flags->installation, "For tests", {.hidden = true});
  command.OnChosen([flags] { return RunBench(*flags); });
}

}  // namespace caisson::cli
