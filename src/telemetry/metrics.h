// Metrics are counters and histograms of durations, shown in the Prometheus text format.
//
//   Metrics metrics({{"http_requests_total", "Requests answered."},
//                    {"http_request_seconds", "How long they took."}});
//   metrics.Count("http_requests_total", {{"route", "/v1/runs"}, {"status", "200"}});
//
// Trust     Label values must come from a small fixed set, because each combination is kept
//           forever.
// Threads   Any; one lock, held for a map lookup.
// Lifetime  Outlives its callers.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/guarded.h"

namespace caisson {

class Metrics {
 public:
  using Labels = std::vector<std::pair<std::string_view, std::string>>;
  struct Described {
    std::string name;
    std::string help;
  };

  // `described`: the metrics to show, in this order. Others are not shown.
  explicit Metrics(std::vector<Described> described) : described_(std::move(described)) {}

  void Count(std::string_view name, const Labels& labels);
  void Time(std::string_view name, const Labels& labels, std::chrono::nanoseconds time);

  std::string Text();

 private:
  // From 100 microseconds to 100 seconds, the range of runs.
  static constexpr std::array<double, 13> kBounds = {1e-4, 5e-4, 1e-3, 5e-3, 1e-2, 5e-2, 0.1,
                                                     0.5,  1,    5,    10,   50,   100};
  struct Histogram {
    std::array<std::uint64_t, kBounds.size()> buckets{};  // Each includes the buckets before it.
    std::uint64_t count = 0;
    double sum = 0;
  };
  template <typename T>
  using Family = std::map<std::string, T>;  // Keyed by the text of the labels.
  struct State {
    std::map<std::string, Family<std::uint64_t>, std::less<>> counters;
    std::map<std::string, Family<Histogram>, std::less<>> histograms;
  };

  static void AppendHistogram(std::string& out, const std::string& name, const std::string& labels,
                              const Histogram& histogram);

  const std::vector<Described> described_;
  Guarded<State> state_;
};

}  // namespace caisson
