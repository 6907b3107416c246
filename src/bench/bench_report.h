// The results of the benchmarks, as data, as JSON and as a table.
//
// Trust     Trusted numbers and names; facts about the machine come from the kernel.
// Threads   Values.
// Lifetime  Values.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "bench/samples.h"

namespace caisson::bench {

struct Machine {
  std::string cpu;
  std::size_t cores = 0;  // The cores that this process may use.
  std::uint64_t memory_bytes = 0;
  std::string kernel;
  std::string python;  // The system's python3 for comparison; empty: none.
  std::string caisson;
  std::string tier;
};

// Describes this machine; the caller sets `python` and `tier`.
Machine ThisMachine();

struct Metric {
  std::string name;  // Ends in its unit: _us, _bytes, _ratio, _per_second.
  Distribution value;
};

struct Skipped {
  std::string name;
  std::string why;
};

struct Report {
  Machine machine;
  std::vector<Metric> metrics{};
  std::vector<Skipped> skipped{};
};

// Returns one line: {"machine":{…},"metrics":{NAME:{"median":…,"p99":…,"n":…}}}, and "skipped" if
// anything was skipped.
std::string ToJson(const Report& report);

std::string ToTable(const Report& report);

}  // namespace caisson::bench
