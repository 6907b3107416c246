// A Diagnosis says what this machine and this installation can do, and what would make them do more.
//
// Trust     Tries rather than believes: walls are put up, files are hashed, a run is timed.
// Threads   Diagnose() starts engines, which takes up to seconds. Not on the path of a run.
// Lifetime  A value, true at the moment it was made.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace caisson {

struct FeatureVerdict {
  std::string name;
  bool available = false;
  std::string detail;
  std::string fix;
};

struct BoundaryVerdict {
  std::string tier;
  bool available = false;  // Engine wasm starts in it.
  std::string why_not;
  bool native_available = false;  // Engine native starts in it.
  std::string native_why_not{};
};

// Measured, not promised: medians over `fresh_runs` runs of `1+1`.
struct StartLatency {
  std::string tier;
  std::chrono::nanoseconds engine{};     // From nothing to an engine that is ready.
  std::chrono::nanoseconds first_run{};  // The first run in it.
  std::chrono::nanoseconds fresh_run{};  // A later one, each in a fresh cell.
  int fresh_runs = 0;
};

struct EngineVerdict {
  std::string name;
  bool available = false;
  std::string why_not;
  std::string fix;
  std::optional<StartLatency> latency;     // If it is available.
  std::vector<std::string> missing_walls;  // Of the measured runs.
  // Of engine wasm.
  std::string worker_path;
  std::string build_id;  // Hexadecimal; empty if no worker could be asked.
  std::string base_path;
  std::string base_sha256;  // Empty unless verified.
  // Of engine native.
  std::string fork_server_path;
  std::vector<std::string> packages;  // That code may use there by default.
};

struct Diagnosis {
  std::string version;
  std::string kernel;
  std::vector<FeatureVerdict> features;
  std::vector<BoundaryVerdict> tiers;  // Strongest first.
  std::string default_tier;
  std::string
      best_tier;  // What could be had; weaker than the default must be asked for by name (I12).
  std::vector<std::string> advice;     // How to run here if the default tier is not available.
  std::vector<EngineVerdict> engines;  // wasm, native.

  // Whether `caisson run` without options works here: that takes engine wasm in the default tier.
  bool Healthy() const;
};

// `installation` as in BackendOptions.
Diagnosis Diagnose(const std::string& installation);

// One line of JSON.
std::string ToJson(const Diagnosis& diagnosis);

}  // namespace caisson
