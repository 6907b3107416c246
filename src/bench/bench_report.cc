#include "bench/bench_report.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <string_view>
#include <thread>

#include "server/version.h"
#include "wire/value.h"

namespace caisson::bench {
namespace {

constexpr std::size_t kNameWidth = 34;

Value Text(const char* text) {
  return std::string(text);
}
Value Whole(std::uint64_t number) {
  return static_cast<std::int64_t>(number);
}
// A thousandth of a microsecond cannot be measured.
Value Rounded(double number) {
  return std::round(number * 1000) / 1000;
}

Value MachineFields(const Machine& machine) {
  return Dict{{{Text("cpu"), machine.cpu},
               {Text("cores"), Whole(machine.cores)},
               {Text("memory_bytes"), Whole(machine.memory_bytes)},
               {Text("kernel"), machine.kernel},
               {Text("python"), machine.python.empty() ? Value() : Value(machine.python)},
               {Text("caisson"), machine.caisson},
               {Text("tier"), machine.tier}}};
}

Value MetricFields(const Distribution& value) {
  return Dict{{{Text("median"), Rounded(value.median)},
               {Text("p99"), Rounded(value.p99)},
               {Text("n"), Whole(value.n)}}};
}

std::string CpuName() {
  std::ifstream info("/proc/cpuinfo");
  constexpr std::string_view kKey = "model name";
  for (std::string line; std::getline(info, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with(kKey) && colon != line.npos) return line.substr(colon + 2);
  }
  return "unknown";
}

std::string Kernel() {
  utsname names{};
  return ::uname(&names) == 0 ? std::string(names.release) : "unknown";
}

template <typename... Numbers>
std::string Format(const char* format, Numbers... numbers) {
  std::array<char, 128> text{};
  std::snprintf(text.data(), text.size(), format, numbers...);
  return text.data();
}

std::string Shown(std::string_view name, double value) {
  if (name.ends_with("_us")) {
    if (value < 1000) return Format("%.1f µs", value);
    return Format("%.2f ms", value / 1000);
  }
  if (name.ends_with("_bytes")) return Format("%.1f kB", value / 1000);
  if (name.ends_with("_per_second")) return Format("%.0f /s", value);
  return Format("%.2f ×", value);
}

// Right-aligned to `width` characters; UTF-8 may take more bytes.
std::string Padded(const std::string& text, std::size_t width) {
  std::size_t characters = 0;
  for (const char c : text) characters += (static_cast<unsigned char>(c) & 0xC0) != 0x80 ? 1 : 0;
  return characters >= width ? text : std::string(width - characters, ' ') + text;
}

std::string Row(const Metric& metric) {
  constexpr std::size_t kNumberWidth = 14;
  constexpr std::size_t kCountWidth = 8;
  std::string name = metric.name;
  name.resize(std::max(name.size(), kNameWidth), ' ');
  return name + Padded(Shown(metric.name, metric.value.median), kNumberWidth) +
         Padded(Shown(metric.name, metric.value.p99), kNumberWidth) +
         Padded(std::to_string(metric.value.n), kCountWidth) + "\n";
}

}  // namespace

Machine ThisMachine() {
  Machine machine;
  machine.cpu = CpuName();
  machine.cores = std::thread::hardware_concurrency();
  machine.memory_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                         static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  machine.kernel = Kernel();
  machine.caisson = Version();
  return machine;
}

std::string ToJson(const Report& report) {
  Dict metrics;
  for (const Metric& metric : report.metrics) {
    metrics.items.emplace_back(metric.name, MetricFields(metric.value));
  }
  Dict all{
      {{Text("machine"), MachineFields(report.machine)}, {Text("metrics"), std::move(metrics)}}};
  if (!report.skipped.empty()) {
    Dict skipped;
    for (const Skipped& one : report.skipped) skipped.items.emplace_back(one.name, one.why);
    all.items.emplace_back(Text("skipped"), std::move(skipped));
  }
  auto text = caisson::ToJson(Value(std::move(all)));
  // Cannot fail: JSON can hold all finite numbers.
  return text ? *std::move(text) : std::string("null");
}

std::string ToTable(const Report& report) {
  const Machine& machine = report.machine;
  std::string text = "Caisson " + machine.caisson + ", tier " + machine.tier + ", on " +
                     machine.cpu + ", " + std::to_string(machine.cores) + " cores, Linux " +
                     machine.kernel + "\n\n";
  std::string head = "what";
  head.resize(kNameWidth, ' ');
  text += head + "        median           p99       n\n";
  for (const Metric& metric : report.metrics) text += Row(metric);
  for (const Skipped& skipped : report.skipped) {
    text += "\nleft out: " + skipped.name + ": " + skipped.why + "\n";
  }
  return text;
}

}  // namespace caisson::bench
