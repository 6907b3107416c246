// What the benchmarks found, as data, as JSON and as a table.
//
// Trust     Numbers and names of ours; facts of the machine come from the kernel.
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
  std::size_t cores = 0;  // That this process may use.
  std::uint64_t memory_bytes = 0;
  std::string kernel;
  std::string python;  // The system's python3 that is compared with; empty: none.
  std::string caisson;
  std::string tier;
};

// The machine we are on; `python` and `tier` are left to the caller.
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

// One line: {"machine":{…},"metrics":{NAME:{"median":…,"p99":…,"n":…}}}, and "skipped" if anything
// was.
std::string ToJson(const Report& report);

std::string ToTable(const Report& report);

}  // namespace caisson::bench
