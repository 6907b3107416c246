// A Diagnosis states what this machine and this installation can do, and which changes would add
// more.
//
// Trust     Reports only what it tried: it builds each wall, hashes the files and times a run.
// Threads   Diagnose() starts engines and blocks for up to seconds. Do not call it during a run.
// Lifetime  A value. It describes the moment at which it was made.
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

// Measured medians over `fresh_runs` runs of `1+1`.
struct StartLatency {
  std::string tier;
  std::chrono::nanoseconds engine{};     // Until the engine is ready.
  std::chrono::nanoseconds first_run{};  // The first run in that engine.
  std::chrono::nanoseconds fresh_run{};  // A later run, in a fresh cell.
  int fresh_runs = 0;
};

struct EngineVerdict {
  std::string name;
  bool available = false;
  std::string why_not;
  std::string fix;
  std::optional<StartLatency> latency;     // Only if it is available.
  std::vector<std::string> missing_walls;  // Walls that the measured runs lacked.
  // For engine wasm:
  std::string worker_path;
  std::string build_id;  // Hexadecimal; empty if no worker could be asked.
  std::string base_path;
  std::string base_sha256;  // Empty unless verified.
  // For engine native:
  std::string fork_server_path;
  std::vector<std::string> packages;  // Packages that code may use by default.
};

struct Diagnosis {
  std::string version;
  std::string kernel;
  std::vector<FeatureVerdict> features;
  std::vector<BoundaryVerdict> tiers;  // Strongest first.
  std::string default_tier;
  // The strongest available tier. One weaker than the default must be requested by name (I12).
  std::string best_tier;
  std::vector<std::string> advice;     // How to run without the default tier.
  std::vector<EngineVerdict> engines;  // wasm, native.

  // Returns whether `caisson run` without options works here. It needs engine wasm in the default
  // tier.
  bool Healthy() const;
};

// `installation`: see BackendOptions.
Diagnosis Diagnose(const std::string& installation);

// Returns one line of JSON.
std::string ToJson(const Diagnosis& diagnosis);

}  // namespace caisson
