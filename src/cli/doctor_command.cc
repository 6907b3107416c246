#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/exit_status.h"
#include "cli/output.h"
#include "cli/tell.h"
#include "server/diagnosis.h"

namespace caisson::cli {
namespace {

struct DoctorFlags {
  bool json = false;
  std::string installation;
};

constexpr std::size_t kNameWidth = 18;

const char* Mark(bool good) {
  return good ? "  ✓ " : "  ✗ ";
}

std::string Padded(const std::string& text, std::size_t width) {
  return text.size() >= width ? text : text + std::string(width - text.size(), ' ');
}

std::string Took(std::chrono::nanoseconds time) {
  std::array<char, 64> text{};
  const double microseconds = std::chrono::duration<double, std::micro>(time).count();
  if (microseconds < 1000) {
    std::snprintf(text.data(), text.size(), "%.0f µs", microseconds);
  } else {
    std::snprintf(text.data(), text.size(), "%.1f ms", microseconds / 1000);
  }
  return text.data();
}

void Line(std::string& out, bool good, const std::string& name, const std::string& detail,
          const std::string& fix) {
  out += Mark(good) + (detail.empty() ? name : Padded(name, kNameWidth) + " " + detail) + "\n";
  if (!fix.empty()) out += "      to get it: " + fix + "\n";
}

void AppendBoundary(const Diagnosis& diagnosis, std::string& out) {
  out += "Boundary (strongest first)\n";
  for (const BoundaryVerdict& tier : diagnosis.tiers) {
    Line(out, tier.available, tier.tier,
         tier.tier == "none" ? "promises no wall; used only if requested by name" : tier.why_not,
         "");
    if (tier.available && !tier.native_available) {
      out += "      engine native does not start in it: " + tier.native_why_not + "\n";
    }
  }
  const auto has = [&](const std::string& name) {
    return std::ranges::any_of(diagnosis.tiers, [&](const BoundaryVerdict& tier) {
      return tier.tier == name && tier.available;
    });
  };
  if (has(diagnosis.default_tier)) {
    out += "  Runs use the tier " + diagnosis.default_tier + ".\n";
    return;
  }
  out += "  The default tier " + diagnosis.default_tier + " is not available: runs are refused.\n";
  for (const std::string& line : diagnosis.advice) out += "      " + line + "\n";
}

void AppendLatency(const StartLatency& latency, std::string& out) {
  out += "      measured now in tier " + latency.tier + ": ready after " + Took(latency.engine) +
         ", first run " + Took(latency.first_run) + ", fresh run of 1+1 " +
         Took(latency.fresh_run) + " (median of " + std::to_string(latency.fresh_runs) + ")\n";
}

void AppendEngine(const EngineVerdict& engine, std::string& out) {
  Line(out, engine.available, engine.name, engine.why_not, engine.fix);
  if (!engine.worker_path.empty()) {
    out += "      worker " + engine.worker_path +
           (engine.build_id.empty() ? "" : ", build " + engine.build_id) + "\n";
    out += "      base   " + engine.base_path +
           (engine.base_sha256.empty() ? "" : ", SHA-256 verified: " + engine.base_sha256) + "\n";
  }
  if (!engine.fork_server_path.empty()) {
    out += "      fork server " + engine.fork_server_path + "\n      packages";
    for (const std::string& package : engine.packages) out += " " + package;
    out += engine.packages.empty() ? " none beyond the standard library\n" : "\n";
  }
  for (const std::string& wall : engine.missing_walls) {
    out += "      its runs work without: " + wall + "\n";
  }
  if (engine.latency) AppendLatency(*engine.latency, out);
}

std::string ToText(const Diagnosis& diagnosis) {
  std::string out =
      "Caisson " + diagnosis.version + " on Linux " + diagnosis.kernel + "\n\nThis machine\n";
  for (const FeatureVerdict& feature : diagnosis.features) {
    Line(out, feature.available, feature.name, feature.detail, feature.fix);
  }
  out += "\n";
  AppendBoundary(diagnosis, out);
  out += "\nEngines\n";
  for (const EngineVerdict& engine : diagnosis.engines) AppendEngine(engine, out);
  out += diagnosis.Healthy() ? "\nReady: `caisson run` works here with the default boundary.\n"
                             : "\nNot ready: `caisson run` does not work here without options.\n";
  return out;
}

int RunDoctor(const DoctorFlags& flags) {
  const Diagnosis diagnosis = Diagnose(flags.installation);
  Output out = Output::Stdout();
  out.Write(flags.json ? ToJson(diagnosis) + "\n" : ToText(diagnosis));
  return AfterWriting(out, diagnosis.Healthy() ? 0 : 1);
}

}  // namespace

void AddDoctorCommand(Command program) {
  auto flags = std::make_shared<DoctorFlags>();  // Shared by the parser and the callback.
  Command command = program.AddSubcommand(
      "doctor", "Show what protects runs on this machine, and what is missing");
  command.SetFooter(
      "Tries every wall, checks the installed files and times a run.\n"
      "Exit status: 0 if runs work with the default boundary, 1 if not.");
  command.AddFlag("--json", flags->json, "Print one line of JSON");
  command.AddOption("--worker-dir", flags->installation, "For tests", {.hidden = true});
  command.OnChosen([flags] { return RunDoctor(*flags); });
}

}  // namespace caisson::cli
